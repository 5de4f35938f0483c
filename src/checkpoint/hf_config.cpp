// config.json to a model and back. Fields that are absent have the defaults of the family's configuration
// class; what this program can't compute is refused, never ignored.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "checkpoint/hf_form.h"
#include "checkpoint/hugging_face.h"

namespace longhaul::checkpoint {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMost = std::int64_t{1} << 24;

// Reads fields and collects what is wrong with them.
class Config {
public:
    explicit Config(const Json& object) : object_(object) {}

    // nullptr where the field is absent or null.
    [[nodiscard]] const Json* find(const char* key) const {
        const auto found = object_.find(key);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }
    [[nodiscard]] bool given(const char* key) const { return object_.contains(key); }

    std::int64_t integer(const char* key, std::int64_t absent, std::int64_t least = 1,
                         std::int64_t most = kMost) {
        const Json* value = find(key);
        if (value == nullptr) return absent;
        if (!value->is_number_integer() ||
            (value->is_number_unsigned() && value->get<std::uint64_t>() > kMost) ||
            value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) {
            fault(
                fmt::format("{} = {} is not a whole number from {} to {}", key, value->dump(), least, most));
            return absent;
        }
        return value->get<std::int64_t>();
    }
    double real(const char* key, double absent, double least, double most) {
        const Json* value = find(key);
        if (value == nullptr) return absent;
        const double number = value->is_number() ? value->get<double>() : std::nan("");
        if (!(number >= least && number <= most)) {
            fault(fmt::format("{} = {} is not a number from {} to {}", key, value->dump(), least, most));
            return absent;
        }
        return number;
    }
    bool boolean(const char* key, bool absent) {
        const Json* value = find(key);
        if (value == nullptr) return absent;
        if (!value->is_boolean()) {
            fault(fmt::format("{} = {} is neither true nor false", key, value->dump()));
            return absent;
        }
        return value->get<bool>();
    }
    std::string text(const char* key, const char* absent) {
        const Json* value = find(key);
        if (value == nullptr) return absent;
        if (!value->is_string()) {
            fault(fmt::format("{} = {} is not a string", key, value->dump()));
            return absent;
        }
        return value->get<std::string>();
    }
    // A switch that changes the model's numbers in a way we don't have.
    void must_be(const char* key, bool wanted, const char* why) {
        if (boolean(key, wanted) != wanted) fault(fmt::format("{} = {}: {}", key, !wanted, why));
    }
    void one_of(const char* key, const char* absent, std::initializer_list<const char*> allowed) {
        const std::string value = text(key, absent);
        if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
            fault(fmt::format("{} = {}: only {} can be computed", key, value, fmt::join(allowed, ", ")));
    }
    void fault(std::string sentence) { faults_.push_back(std::move(sentence)); }
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

private:
    const Json& object_;
    std::vector<std::string> faults_;
};

// Dropout is a matter of training alone; one rate for all places is what we have.
void read_dropout(Config& c, spec::Model& m, std::initializer_list<const char*> keys) {
    std::optional<double> rate;
    bool equal = true;
    for (const char* key : keys) {
        const double value = c.real(key, 0.0, 0.0, 0.99);
        if (rate && *rate != value) equal = false;
        rate = value;
    }
    m.dropout = equal ? rate.value_or(0.0) : 0.0;
    if (!equal) log_warning(fmt::format("{} differ: dropout is taken as 0", fmt::join(keys, ", ")));
}

spec::Model read_gpt2(Config& c) {
    spec::Model m;
    m.family = spec::Family::gpt2;
    m.vocab = c.integer("vocab_size", 50257);
    m.seq = c.integer("n_positions", c.integer("n_ctx", 1024));
    m.hidden = c.integer("n_embd", 768, 1, 1 << 20);
    m.layers = c.integer("n_layer", 12, 1, 10000);
    m.heads = c.integer("n_head", 12, 1, 1 << 16);
    m.ffn = c.integer("n_inner", 4 * m.hidden, 1, 1 << 22);
    m.norm_eps = c.real("layer_norm_epsilon", 1e-5, 1e-30, 1);
    m.tie_embeddings = c.boolean("tie_word_embeddings", true);
    c.one_of("activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
    c.must_be("scale_attn_weights", true, "attention is always scaled here");
    c.must_be("scale_attn_by_inverse_layer_idx", false, "attention can't be scaled by layer here");
    c.must_be("add_cross_attention", false, "there is no cross-attention here");
    read_dropout(c, m, {"resid_pdrop", "embd_pdrop", "attn_pdrop"});
    return m;
}

// Rotation settings, in the older fields or nested in rope_parameters (rope_scaling before).
void read_rope(Config& c, spec::Model& m, double fraction) {
    m.positions = spec::Positions::rope;
    m.rope_theta = c.real("rope_theta", 10000.0, 1, 1e12);
    m.rotary_fraction = c.real("partial_rotary_factor", fraction, 0.001, 1);
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        const Json* nested = c.find(key);
        if (nested == nullptr) continue;
        if (!nested->is_object()) {
            c.fault(fmt::format("{} is not an object", key));
            continue;
        }
        Config inner(*nested);
        const std::string type = inner.text("rope_type", inner.text("type", "default").c_str());
        if (type != "default")
            c.fault(fmt::format("{}: rope_type {}: positions can't be rescaled here", key, type));
        m.rope_theta = inner.real("rope_theta", m.rope_theta, 1, 1e12);
        m.rotary_fraction = inner.real("partial_rotary_factor", m.rotary_fraction, 0.001, 1);
        for (const auto& [name, value] : nested->items()) {
            if (value.is_object())
                c.fault(fmt::format("{}.{}: layers with rotations of their own", key, name));
        }
        for (const std::string& sentence : inner.faults()) c.fault(fmt::format("{}: {}", key, sentence));
    }
}

struct Defaults {
    std::int64_t vocab, hidden, ffn, layers, heads, kv_heads, seq;
};

// What the four families with rotations share.
spec::Model read_common(Config& c, spec::Family family, const Defaults& absent) {
    spec::Model m;
    m.family = family;
    m.vocab = c.integer("vocab_size", absent.vocab);
    m.hidden = c.integer("hidden_size", absent.hidden, 1, 1 << 20);
    m.ffn = c.integer("intermediate_size", absent.ffn, 1, 1 << 22);
    m.layers = c.integer("num_hidden_layers", absent.layers, 1, 10000);
    m.heads = c.integer("num_attention_heads", absent.heads, 1, 1 << 16);
    // A field that is there but null means as many as heads.
    m.kv_heads = c.integer("num_key_value_heads",
                           c.given("num_key_value_heads") || absent.kv_heads == 0 ? m.heads : absent.kv_heads,
                           1, 1 << 16);
    m.head_dim = c.integer("head_dim", 0, 1, 4096);
    m.seq = c.integer("max_position_embeddings", absent.seq);
    m.tie_embeddings = c.boolean("tie_word_embeddings", false);
    m.bias = false;
    m.qkv_bias = false;
    return m;
}

void read_gated(Config& c, spec::Model& m) {
    m.norm = spec::Norm::rmsnorm;
    m.norm_eps = c.real("rms_norm_eps", 1e-6, 1e-30, 1);
    m.activation = spec::Activation::swiglu;
    c.one_of("hidden_act", "silu", {"silu", "swish"});
    read_rope(c, m, 1.0);
    if (m.rotary_fraction != 1.0) c.fault("partial_rotary_factor: this family rotates whole heads");
    read_dropout(c, m, {"attention_dropout"});
    if (m.dropout != 0.0) {
        log_warning("attention_dropout is dropout of attention alone; dropout is taken as 0");
        m.dropout = 0.0;
    }
}

spec::Model read_llama(Config& c) {
    spec::Model m = read_common(c, spec::Family::llama, {32000, 4096, 11008, 32, 32, 0, 2048});
    read_gated(c, m);
    const bool attention = c.boolean("attention_bias", false);
    const bool mlp = c.boolean("mlp_bias", false);
    if (attention != mlp) {
        c.fault(fmt::format("attention_bias = {} with mlp_bias = {}: biases on all linears or on none",
                            attention, mlp));
    }
    m.bias = attention && mlp;
    return m;
}

spec::Model read_mistral(Config& c) {
    spec::Model m = read_common(c, spec::Family::mistral, {32000, 4096, 14336, 32, 32, 8, 131072});
    read_gated(c, m);
    // null is no window; absent is the default of the class.
    m.window = c.integer("sliding_window", c.given("sliding_window") ? 0 : 4096);
    return m;
}

spec::Model read_qwen2(Config& c) {
    spec::Model m = read_common(c, spec::Family::qwen2, {151936, 4096, 22016, 32, 32, 32, 32768});
    read_gated(c, m);
    m.qkv_bias = true;
    const std::int64_t window = c.integer("sliding_window", c.given("sliding_window") ? 0 : 4096);
    const std::int64_t full_layers = c.integer("max_window_layers", 28, 0);
    if (!c.boolean("use_sliding_window", false) || window == 0 || full_layers >= m.layers) return m;
    // Layers from max_window_layers on have the window.
    if (full_layers == 0) {
        m.window = window;
    } else {
        c.fault(fmt::format("max_window_layers = {} of {} layers: a window on some layers only", full_layers,
                            m.layers));
    }
    return m;
}

spec::Model read_phi(Config& c) {
    spec::Model m = read_common(c, spec::Family::phi, {51200, 2048, 8192, 24, 32, 0, 2048});
    m.norm = spec::Norm::layernorm;
    m.norm_eps = c.real("layer_norm_eps", 1e-5, 1e-30, 1);
    m.activation = spec::Activation::gelu;
    m.parallel_block = true;
    m.bias = true;
    m.qkv_bias = true;
    m.head_bias = true;
    c.one_of("hidden_act", "gelu_new", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
    c.must_be("qk_layernorm", false, "there are no norms of queries and keys here");
    read_rope(c, m, 0.5);
    read_dropout(c, m, {"resid_pdrop", "embd_pdrop", "attention_dropout"});
    return m;
}

// Mixed kinds of attention by layer, in newer files.
void check_layer_types(Config& c, const spec::Model& m) {
    const Json* types = c.find("layer_types");
    if (types == nullptr) return;
    const char* wanted = m.window > 0 ? "sliding_attention" : "full_attention";
    if (!types->is_array() ||
        std::any_of(types->begin(), types->end(), [&](const Json& t) { return t != wanted; }))
        c.fault(fmt::format("layer_types: other kinds of attention than {} in every layer", wanted));
}

SpecialTokens read_special_tokens(Config& c, std::int64_t vocab) {
    SpecialTokens special;
    const auto id = [&](const Json& value) -> std::optional<std::int64_t> {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab))
            return std::nullopt;
        return value.get<std::int64_t>();
    };
    if (const Json* bos = c.find("bos_token_id")) special.bos = id(*bos);
    if (const Json* eos = c.find("eos_token_id")) {
        for (const Json& value : eos->is_array() ? *eos : Json::array({*eos})) {
            if (const auto token = id(value)) special.eos.push_back(*token);
        }
    }
    return special;
}

spec::Model read_family(Config& c, const std::string& type) {
    if (type == "gpt2") return read_gpt2(c);
    if (type == "llama") return read_llama(c);
    if (type == "mistral") return read_mistral(c);
    if (type == "qwen2") return read_qwen2(c);
    return read_phi(c);
}

Json parse_object(const std::filesystem::path& path) {
    try {
        Json json = Json::parse(read_file(path));
        require(json.is_object(), ErrorCode::bad_data, "{} is not a JSON object", path.string());
        return json;
    } catch (const Json::exception&) {
        fail(ErrorCode::bad_data, "{} is not JSON: it is damaged", path.string());
    }
}

}  // namespace

bool is_hugging_face(const std::filesystem::path& directory) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(directory / "config.json", error)) return false;
    try {
        return parse_object(directory / "config.json").contains("model_type");
    } catch (const Error&) {
        return false;
    }
}

HuggingFaceConfig read_hf_config(const std::filesystem::path& directory) {
    const std::filesystem::path path = directory / "config.json";
    const Json json = parse_object(path);
    Config config(json);
    const std::string type = config.text("model_type", "");
    const std::initializer_list<const char*> families = {"gpt2", "llama", "mistral", "qwen2", "phi"};
    require(std::find(families.begin(), families.end(), type) != families.end(), ErrorCode::bad_data,
            "{}: model_type '{}' is none of {}", path.string(), type, fmt::join(families, ", "));
    HuggingFaceConfig result;
    result.model = read_family(config, type);
    result.model.init_std = config.real("initializer_range", 0.02, 0, 100);
    check_layer_types(config, result.model);
    if (config.find("quantization_config") != nullptr)
        config.fault("quantization_config: the weights are quantised; fetch the model in fp32, bf16 or fp16");
    std::vector<std::string> faults = config.faults();
    for (const std::string& sentence : spec::faults(result.model)) faults.push_back(sentence);
    require(faults.empty(), ErrorCode::bad_data, "{} describes a model that can't be imported:\n  {}",
            path.string(), fmt::join(faults, "\n  "));
    result.special_tokens = read_special_tokens(config, result.model.vocab);
    return result;
}

}  // namespace longhaul::checkpoint
