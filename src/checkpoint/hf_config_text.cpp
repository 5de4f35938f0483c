// A model as config.json, and why some models have no such form.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/hf_form.h"
#include "checkpoint/hugging_face.h"

namespace longhaul::checkpoint {

namespace {

using Json = nlohmann::ordered_json;

const char* torch_dtype(DType dtype) {
    if (dtype == DType::bf16) return "bfloat16";
    return dtype == DType::f16 ? "float16" : "float32";
}

struct Names {
    const char* model_type;
    const char* architecture;
};

Names names_of(spec::Family family) {
    switch (family) {
        case spec::Family::gpt2:
            return {"gpt2", "GPT2LMHeadModel"};
        case spec::Family::llama:
            return {"llama", "LlamaForCausalLM"};
        case spec::Family::mistral:
            return {"mistral", "MistralForCausalLM"};
        case spec::Family::qwen2:
            return {"qwen2", "Qwen2ForCausalLM"};
        case spec::Family::phi:
            return {"phi", "PhiForCausalLM"};
    }
    return {"", ""};
}

void add_gpt2(Json& json, const spec::Model& m) {
    json["n_positions"] = m.seq;
    json["n_ctx"] = m.seq;
    json["n_embd"] = m.hidden;
    json["n_layer"] = m.layers;
    json["n_head"] = m.heads;
    json["n_inner"] = m.feed_forward() == 4 * m.hidden ? Json(nullptr) : Json(m.feed_forward());
    json["activation_function"] = "gelu_new";
    json["layer_norm_epsilon"] = m.norm_eps;
    json["resid_pdrop"] = m.dropout;
    json["embd_pdrop"] = m.dropout;
    json["attn_pdrop"] = m.dropout;
    json["scale_attn_weights"] = true;
}

void add_common(Json& json, const spec::Model& m) {
    json["hidden_size"] = m.hidden;
    json["intermediate_size"] = m.feed_forward();
    json["num_hidden_layers"] = m.layers;
    json["num_attention_heads"] = m.heads;
    json["num_key_value_heads"] = m.kv();
    json["max_position_embeddings"] = m.seq;
    json["rope_theta"] = m.rope_theta;
    json["rope_scaling"] = nullptr;
    json["attention_dropout"] = m.dropout;
}

void add_gated(Json& json, const spec::Model& m) {
    add_common(json, m);
    json["hidden_act"] = "silu";
    json["rms_norm_eps"] = m.norm_eps;
    if (m.family == spec::Family::llama) {
        json["head_dim"] = m.dim();
        json["attention_bias"] = m.bias;
        json["mlp_bias"] = m.bias;
    } else if (m.family == spec::Family::mistral) {
        json["head_dim"] = m.dim();
        json["sliding_window"] = m.window == 0 ? Json(nullptr) : Json(m.window);
    } else {
        json["use_sliding_window"] = m.window > 0;
        json["sliding_window"] = m.window == 0 ? Json(nullptr) : Json(m.window);
        json["max_window_layers"] = m.window == 0 ? m.layers : 0;
    }
}

void add_phi(Json& json, const spec::Model& m) {
    add_common(json, m);
    json["hidden_act"] = "gelu_new";
    json["layer_norm_eps"] = m.norm_eps;
    json["partial_rotary_factor"] = m.rotary_fraction;
    json["qk_layernorm"] = false;
    json["resid_pdrop"] = m.dropout;
    json["embd_pdrop"] = m.dropout;
}

}  // namespace

std::vector<std::string> hf_faults(const spec::Model& m) {
    std::vector<std::string> found;
    const char* family = names_of(m.family).model_type;
    const auto needs = [&](bool fine, std::string_view what, std::string_view instead = "") {
        if (fine) return;
        found.push_back(
            fmt::format("the {} form needs {}{}{}", family, what, instead.empty() ? "" : "; ", instead));
    };
    const bool gpt2 = m.family == spec::Family::gpt2;
    const bool phi = m.family == spec::Family::phi;
    const bool gated = !gpt2 && !phi;
    needs(m.norm == (gated ? spec::Norm::rmsnorm : spec::Norm::layernorm),
          gated ? "norm = rmsnorm" : "norm = layernorm");
    needs(m.activation == (gated ? spec::Activation::swiglu : spec::Activation::gelu),
          gated ? "activation = swiglu" : "activation = gelu");
    needs(m.positions == (gpt2 ? spec::Positions::learned : spec::Positions::rope),
          gpt2 ? "positions = learned" : "positions = rope");
    needs(m.parallel_block == phi, phi ? "parallel_block = true" : "parallel_block = false",
          phi ? "" : "the phi form has parallel blocks");
    needs(m.window == 0 || m.family == spec::Family::mistral || m.family == spec::Family::qwen2, "window = 0",
          "the mistral and qwen2 forms have windows");
    needs(m.head_bias == phi, phi ? "head_bias = true" : "head_bias = false",
          phi ? "" : "the phi form has that bias");
    needs(m.positions != spec::Positions::rope || phi || m.rotary_fraction == 1.0, "rotary_fraction = 1",
          "the phi form rotates a part of each head");
    needs(!gpt2 || m.kv() == m.heads, "kv_heads = heads");
    const bool plain_heads = m.heads * m.dim() == m.hidden;
    needs(plain_heads || m.family == spec::Family::llama || m.family == spec::Family::mistral,
          "heads x head_dim = hidden", "the llama and mistral forms have head_dim");
    if (gpt2 || phi) needs(m.bias, "bias = true");
    if (m.family == spec::Family::llama)
        needs(m.bias || !m.qkv_bias, "qkv_bias = false without bias",
              "the qwen2 form has biases on q, k and v alone");
    if (m.family == spec::Family::mistral) needs(!m.bias && !m.qkv_bias, "bias = false and qkv_bias = false");
    if (m.family == spec::Family::qwen2) needs(!m.bias && m.qkv_bias, "bias = false and qkv_bias = true");
    return found;
}

std::string hf_config_text(const spec::Model& m, const SpecialTokens& special_tokens, DType dtype) {
    const Names names = names_of(m.family);
    Json json;
    json["architectures"] = Json::array({names.architecture});
    json["model_type"] = names.model_type;
    json["vocab_size"] = m.vocab;
    if (m.family == spec::Family::gpt2) {
        add_gpt2(json, m);
    } else if (m.family == spec::Family::phi) {
        add_phi(json, m);
    } else {
        add_gated(json, m);
    }
    json["initializer_range"] = m.init_std;
    json["tie_word_embeddings"] = m.tie_embeddings;
    // null rather than absent: the classes' default ids belong to other vocabularies.
    json["bos_token_id"] = special_tokens.bos ? Json(*special_tokens.bos) : Json(nullptr);
    json["eos_token_id"] = special_tokens.eos.empty()       ? Json(nullptr)
                           : special_tokens.eos.size() == 1 ? Json(special_tokens.eos.front())
                                                            : Json(special_tokens.eos);
    json["torch_dtype"] = torch_dtype(dtype);
    json["use_cache"] = true;
    return json.dump(2) + "\n";
}

}  // namespace longhaul::checkpoint
