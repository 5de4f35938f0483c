// Counts of parameters and FLOPs against tensors listed here one by one and published totals.
#include "spec/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace longhaul::spec {
namespace {

// Every tensor of a GPT-2 style model as Hugging Face lists them.
std::int64_t gpt2_tensors(std::int64_t layers, std::int64_t h, std::int64_t vocab, std::int64_t positions) {
    std::int64_t total = vocab * h + positions * h;  // wte (the head is the same one), wpe
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        total += h + h;              // ln_1
        total += h * 3 * h + 3 * h;  // attn.c_attn
        total += h * h + h;          // attn.c_proj
        total += h + h;              // ln_2
        total += h * 4 * h + 4 * h;  // mlp.c_fc
        total += 4 * h * h + h;      // mlp.c_proj
    }
    return total + h + h;  // ln_f
}

struct LlamaTensors {
    std::int64_t layers, h, heads, kv_heads, ffn, vocab;
    bool tied = false;
};
std::int64_t llama_tensors(const LlamaTensors& t) {
    const std::int64_t head = t.h / t.heads;
    std::int64_t total = t.vocab * t.h;  // embed_tokens
    for (std::int64_t layer = 0; layer < t.layers; ++layer) {
        total += t.h * t.heads * head;         // q_proj
        total += 2 * t.h * t.kv_heads * head;  // k_proj, v_proj
        total += t.heads * head * t.h;         // o_proj
        total += 3 * t.h * t.ffn;              // gate_proj, up_proj, down_proj
        total += 2 * t.h;                      // the two norms
    }
    return total + t.h + (t.tied ? 0 : t.vocab * t.h);  // norm, lm_head
}

TEST(Model, ParameterCountsOfPresetsEqualTheirTensors) {
    const std::map<std::string_view, std::int64_t> expected = {
        {"gpt2-tiny", gpt2_tensors(4, 64, 512, 64)},
        {"llama-tiny", llama_tensors({4, 64, 4, 2, 256, 512})},
        {"gpt2-124m", gpt2_tensors(12, 768, 50257, 1024)},
        {"gpt2-355m", gpt2_tensors(24, 1024, 50257, 1024)},
        {"gpt2-774m", gpt2_tensors(36, 1280, 50257, 1024)},
        {"gpt2-1558m", gpt2_tensors(48, 1600, 50257, 1024)},
        {"llama-135m", llama_tensors({30, 576, 9, 3, 1536, 49152, true})},
        {"llama-360m", llama_tensors({32, 960, 15, 5, 2560, 49152, true})},
        {"llama2-7b", llama_tensors({32, 4096, 32, 32, 11008, 32000})},
        {"llama2-13b", llama_tensors({40, 5120, 40, 40, 13824, 32000})},
        {"llama2-70b", llama_tensors({80, 8192, 64, 8, 28672, 32000})},
        {"llama3-8b", llama_tensors({32, 4096, 32, 8, 14336, 128256})},
        {"llama3-70b", llama_tensors({80, 8192, 64, 8, 28672, 128256})},
        {"llama3-405b", llama_tensors({126, 16384, 128, 8, 53248, 128256})},
        // A parallel block has one norm; the head is a tensor of its own.
        {"megascale-175b", gpt2_tensors(96, 12288, 64000, 2048) - 96L * 2 * 12288 + 64000L * 12288},
        {"megascale-530b", gpt2_tensors(105, 20480, 64000, 2048) - 105L * 2 * 20480 + 64000L * 20480},
    };
    EXPECT_EQ(expected.size(), presets().size());
    for (const Preset& preset : presets())
        EXPECT_EQ(parameter_count(preset.model), expected.at(preset.name)) << preset.name;
}

TEST(Model, PublishedParameterCounts) {
    const auto count = [](std::string_view name) { return parameter_count(find_preset(name)->model); };
    EXPECT_EQ(count("gpt2-124m"), 124439808);
    EXPECT_EQ(count("gpt2-355m"), 354823168);
    EXPECT_EQ(count("gpt2-774m"), 774030080);
    EXPECT_EQ(count("gpt2-1558m"), 1557611200);
    EXPECT_EQ(count("llama-135m"), 134515008);
    EXPECT_EQ(count("llama-360m"), 361821120);
    EXPECT_EQ(count("llama2-7b"), 6738415616);
    EXPECT_EQ(count("llama2-13b"), 13015864320);
    EXPECT_EQ(count("llama2-70b"), 68976648192);
    EXPECT_EQ(count("llama3-8b"), 8030261248);
    EXPECT_EQ(count("llama3-70b"), 70553706496);
    EXPECT_EQ(count("llama3-405b"), 405853388800);
}

TEST(Model, BiasesAreCountedWhereTheyAre) {
    Model m = find_preset("gpt2-tiny")->model;
    const std::int64_t with = parameter_count(m);
    m.head_bias = true;
    EXPECT_EQ(parameter_count(m), with + 512);
    m.head_bias = false;
    m.bias = false;  // qkv_bias is left: 3 x 64 a layer
    EXPECT_EQ(parameter_count(m), with - (4 * (2 * 64 + 64 + 256 + 64) + 64));
    m.qkv_bias = false;
    EXPECT_EQ(parameter_count(m), with - (4 * (2 * 64 + 3 * 64 + 64 + 256 + 64) + 64));
    m.tie_embeddings = false;
    EXPECT_EQ(parameter_count(m), with - (4 * (2 * 64 + 3 * 64 + 64 + 256 + 64) + 64) + 512 * 64);
}

TEST(Model, DerivedSizes) {
    Model m;
    EXPECT_EQ(m.feed_forward(), 4 * 768);
    EXPECT_EQ(m.qkv_columns(), 3 * 768);
    m.activation = Activation::swiglu;
    m.hidden = 4096;
    m.heads = 32;
    EXPECT_EQ(m.feed_forward(), 11008);  // Llama's: 8/3 x 4096 up to a multiple of 256
    m.kv_heads = 8;
    EXPECT_EQ(m.dim(), 128);
    EXPECT_EQ(m.qkv_columns(), (32 + 16) * 128);
    m.head_dim = 64;
    EXPECT_EQ(m.qkv_columns(), (32 + 16) * 64);
    m.rotary_fraction = 0.4;
    EXPECT_EQ(m.rotary_dim(), 25);
    m.ffn = 5;
    EXPECT_EQ(m.feed_forward(), 5);
}

// 6 x matmul parameters + 12 x layers x hidden x mean keys.
TEST(Model, FlopsOfGpt2Small) {
    const Model& m = find_preset("gpt2-124m")->model;
    const double h = 768;
    const double matmul = 12 * (h * 3 * h + h * h + 8 * h * h) + h * 50257;
    EXPECT_EQ(static_cast<double>(matmul_parameters(m)), matmul);
    EXPECT_EQ(train_flops_per_token(m, 1024), 6 * matmul + 12 * 12 * h * 512.5);
    EXPECT_EQ(train_flops_per_token(m, 1024), 797870592.0);
    EXPECT_EQ(train_flops_per_token(m, 1), 6 * matmul + 12 * 12 * h);
}

TEST(Model, FlopsCountTheHeadOnceTiedOrNot) {
    Model m = find_preset("gpt2-tiny")->model;
    const double tied = train_flops_per_token(m, 64);
    m.tie_embeddings = false;
    EXPECT_EQ(train_flops_per_token(m, 64), tied);
}

// Where head_dim is set, attention is heads x head_dim wide, not hidden; grouped key heads cost the scores
// nothing.
TEST(Model, FlopsOfAttentionFollowTheHeads) {
    Model m = find_preset("llama-tiny")->model;
    m.head_dim = 32;
    const double matmul = 4.0 * (64 * (4 + 2 + 2) * 32 + 4 * 32 * 64 + 3 * 64 * 256) + 64 * 512;
    EXPECT_EQ(train_flops_per_token(m, 64), 6 * matmul + 12 * 4 * (4 * 32) * 32.5);
}

TEST(Model, MeanKeysEqualsCounting) {
    Model m;
    for (const std::int64_t window : {0, 1, 2, 7, 31, 32, 33, 100}) {
        m.window = window;
        for (const std::int64_t seq : {1, 2, 8, 32, 64}) {
            std::int64_t keys = 0;
            for (std::int64_t q = 0; q < seq; ++q) keys += window == 0 ? q + 1 : std::min(q + 1, window);
            EXPECT_DOUBLE_EQ(mean_keys(m, seq), static_cast<double>(keys) / static_cast<double>(seq))
                << window << " of " << seq;
        }
    }
}

TEST(Model, PresetsAreSoundAndFoundByName) {
    for (const Preset& preset : presets()) {
        EXPECT_THAT(faults(preset.model), testing::IsEmpty()) << preset.name;
        EXPECT_EQ(find_preset(preset.name), &preset);
        EXPECT_FALSE(preset.help.empty());
    }
    EXPECT_EQ(find_preset("gpt5"), nullptr);
    EXPECT_EQ(find_preset(""), nullptr);
}

}  // namespace
}  // namespace longhaul::spec
