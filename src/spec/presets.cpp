// Ready models: the GPT-2 and Llama families, the paper's two, and tiny ones for tests and demonstrations.
#include "spec/model.h"

#include <algorithm>

namespace longhaul::spec {

namespace {

Model gpt2(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
    Model m;
    m.layers = layers;
    m.hidden = hidden;
    m.heads = heads;
    return m;
}

struct LlamaSize {
    std::int64_t layers, hidden, heads, kv_heads, ffn, vocab, seq;
    double theta;
    bool tied = false;
};

Model llama(const LlamaSize& size) {
    Model m;
    m.family = Family::llama;
    m.layers = size.layers;
    m.hidden = size.hidden;
    m.heads = size.heads;
    m.kv_heads = size.kv_heads;
    m.ffn = size.ffn;
    m.vocab = size.vocab;
    m.seq = size.seq;
    m.norm = Norm::rmsnorm;
    m.activation = Activation::swiglu;
    m.positions = Positions::rope;
    m.rope_theta = size.theta;
    m.bias = false;
    m.qkv_bias = false;
    m.tie_embeddings = size.tied;
    return m;
}

// Table 1 of the paper, with 64,000 words. Learned positions and an untied head are ours to choose: it does
// not say.
Model megascale(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
    Model m = gpt2(layers, hidden, heads);
    m.family = Family::phi;
    m.vocab = 64000;
    m.seq = 2048;
    m.parallel_block = true;
    m.tie_embeddings = false;
    return m;
}

Model tiny(Model m, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
    m.layers = layers;
    m.hidden = hidden;
    m.heads = heads;
    m.kv_heads = m.family == Family::gpt2 ? 0 : heads / 2;
    m.ffn = 0;
    m.vocab = 512;
    m.seq = 64;
    return m;
}

std::vector<Preset> build() {
    const Model llama_form = llama({4, 64, 4, 2, 0, 512, 64, 10000.0});
    return {
        {"gpt2-tiny", "0.2M parameters, for tests", tiny(gpt2(4, 64, 4), 4, 64, 4)},
        {"llama-tiny", "0.3M parameters, for tests", tiny(llama_form, 4, 64, 4)},
        {"gpt2-124m", "GPT-2 small", gpt2(12, 768, 12)},
        {"gpt2-355m", "GPT-2 medium", gpt2(24, 1024, 16)},
        {"gpt2-774m", "GPT-2 large", gpt2(36, 1280, 20)},
        {"gpt2-1558m", "GPT-2 XL", gpt2(48, 1600, 25)},
        {"llama-135m", "30 layers of 576, grouped KV heads",
         llama({30, 576, 9, 3, 1536, 49152, 2048, 10000.0, true})},
        {"llama-360m", "32 layers of 960, grouped KV heads",
         llama({32, 960, 15, 5, 2560, 49152, 2048, 10000.0, true})},
        {"llama2-7b", "Llama 2 7B", llama({32, 4096, 32, 32, 11008, 32000, 4096, 10000.0})},
        {"llama2-13b", "Llama 2 13B", llama({40, 5120, 40, 40, 13824, 32000, 4096, 10000.0})},
        {"llama2-70b", "Llama 2 70B", llama({80, 8192, 64, 8, 28672, 32000, 4096, 10000.0})},
        {"llama3-8b", "Llama 3 8B", llama({32, 4096, 32, 8, 14336, 128256, 8192, 500000.0})},
        {"llama3-70b", "Llama 3 70B", llama({80, 8192, 64, 8, 28672, 128256, 8192, 500000.0})},
        {"llama3-405b", "Llama 3 405B", llama({126, 16384, 128, 8, 53248, 128256, 8192, 500000.0})},
        {"megascale-175b", "the paper's 175B (Table 1), for planning", megascale(96, 12288, 128)},
        {"megascale-530b", "the paper's 530B (Table 1), for planning", megascale(105, 20480, 160)},
    };
}

}  // namespace

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all = build();
    return all;
}

const Preset* find_preset(std::string_view name) {
    const auto& all = presets();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Preset& p) { return p.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace longhaul::spec
