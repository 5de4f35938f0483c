// Global names to the families' names, by tables of the parts between dots.
#include <array>
#include <span>

#include "base/error.h"
#include "checkpoint/hf_form.h"
#include "checkpoint/hugging_face.h"

namespace longhaul::checkpoint {

namespace {

struct Rename {
    std::string_view ours;
    std::string_view theirs;
};

// Without the prefix; what follows layers.I. is looked up alone.
constexpr std::array kGpt2 = {
    Rename{"embedding.tokens", "wte"},
    Rename{"embedding.positions", "wpe"},
    Rename{"attention.norm", "ln_1"},
    Rename{"attention.qkv", "attn.c_attn"},
    Rename{"attention.output", "attn.c_proj"},
    Rename{"mlp.norm", "ln_2"},
    Rename{"mlp.up", "mlp.c_fc"},
    Rename{"mlp.down", "mlp.c_proj"},
    Rename{"final_norm", "ln_f"},
};
constexpr std::array kLlama = {
    Rename{"embedding.tokens", "embed_tokens"},
    Rename{"attention.norm", "input_layernorm"},
    Rename{"attention.q", "self_attn.q_proj"},
    Rename{"attention.k", "self_attn.k_proj"},
    Rename{"attention.v", "self_attn.v_proj"},
    Rename{"attention.output", "self_attn.o_proj"},
    Rename{"mlp.norm", "post_attention_layernorm"},
    Rename{"mlp.gate", "mlp.gate_proj"},
    Rename{"mlp.up", "mlp.up_proj"},
    Rename{"mlp.down", "mlp.down_proj"},
    Rename{"final_norm", "norm"},
};
constexpr std::array kPhi = {
    Rename{"embedding.tokens", "embed_tokens"},
    Rename{"attention.norm", "input_layernorm"},
    Rename{"attention.q", "self_attn.q_proj"},
    Rename{"attention.k", "self_attn.k_proj"},
    Rename{"attention.v", "self_attn.v_proj"},
    Rename{"attention.output", "self_attn.dense"},
    Rename{"mlp.up", "mlp.fc1"},
    Rename{"mlp.down", "mlp.fc2"},
    Rename{"final_norm", "final_layernorm"},
};

std::span<const Rename> table_of(spec::Family family) {
    switch (family) {
        case spec::Family::gpt2:
            return kGpt2;
        case spec::Family::phi:
            return kPhi;
        case spec::Family::llama:
        case spec::Family::mistral:
        case spec::Family::qwen2:
            return kLlama;
    }
    return {};
}

// "layers.3.attention.q.weight" -> "3", "attention.q", "weight".
struct Parts {
    std::string_view layer;  // empty outside of layers
    std::string_view module;
    std::string_view ending;
};

Parts split(std::string_view name) {
    Parts parts;
    constexpr std::string_view kLayers = "layers.";
    if (name.starts_with(kLayers)) {
        name.remove_prefix(kLayers.size());
        const std::size_t point = name.find('.');
        require(point != std::string_view::npos, ErrorCode::internal, "{} is no name of a tensor", name);
        parts.layer = name.substr(0, point);
        name.remove_prefix(point + 1);
    }
    const std::size_t point = name.rfind('.');
    require(point != std::string_view::npos, ErrorCode::internal, "{} is no name of a tensor", name);
    parts.module = name.substr(0, point);
    parts.ending = name.substr(point + 1);
    return parts;
}

}  // namespace

std::string_view hf_prefix(const spec::Model& model) {
    return model.family == spec::Family::gpt2 ? "transformer." : "model.";
}

std::string hf_name(const spec::Model& model, const std::string& global_name) {
    const Parts parts = split(global_name);
    if (parts.layer.empty() && parts.module == "head") return fmt::format("lm_head.{}", parts.ending);
    for (const Rename& rename : table_of(model.family)) {
        if (rename.ours != parts.module) continue;
        const char* layers = model.family == spec::Family::gpt2 ? "h" : "layers";
        const std::string layer = parts.layer.empty() ? "" : fmt::format("{}.{}.", layers, parts.layer);
        return fmt::format("{}{}{}.{}", hf_prefix(model), layer, rename.theirs, parts.ending);
    }
    fail(ErrorCode::bad_config, "the family's Hugging Face form has no place for tensor {}", global_name);
}

bool hf_transposed(const spec::Model& model, std::string_view global_name) {
    if (model.family != spec::Family::gpt2) return false;
    const Parts parts = split(global_name);
    return parts.ending == "weight" &&
           (parts.module == "attention.qkv" || parts.module == "attention.output" ||
            parts.module == "mlp.up" || parts.module == "mlp.down");
}

}  // namespace longhaul::checkpoint
