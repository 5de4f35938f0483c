// The whole model: gradients by finite differences over every combination of options, recomputation bit for
// bit, micro-batch independence, the decoder against the training forward, planned memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "model/decoder.h"
#include "model/stage.h"

namespace longhaul::model {

namespace {

struct Case {
    std::string name;
    spec::Model model;
    friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

std::vector<Case> cases() {
    spec::Model base;
    base.family = spec::Family::llama;
    base.layers = 2;
    base.hidden = 24;
    base.heads = 4;
    base.vocab = 37;
    base.seq = 11;
    base.ffn = 20;
    std::vector<Case> all;
    const auto add = [&](const std::string& name, const auto& change) {
        spec::Model m = base;
        change(m);
        EXPECT_TRUE(spec::faults(m).empty()) << name;
        all.push_back({name, m});
    };
    add("gpt2", [](spec::Model& m) { m.family = spec::Family::gpt2; });
    add("untied_with_head_bias", [](spec::Model& m) { m.tie_embeddings = false, m.head_bias = true; });
    add("parallel_block", [](spec::Model& m) { m.parallel_block = true; });
    add("parallel_swiglu_rms", [](spec::Model& m) {
        m.parallel_block = true, m.activation = spec::Activation::swiglu, m.norm = spec::Norm::rmsnorm;
    });
    add("llama", [](spec::Model& m) {
        m.norm = spec::Norm::rmsnorm, m.activation = spec::Activation::swiglu,
        m.positions = spec::Positions::rope;
        m.kv_heads = 2, m.bias = false, m.qkv_bias = false;
    });
    add("qkv_bias_alone", [](spec::Model& m) {
        m.bias = false, m.qkv_bias = true, m.kv_heads = 1, m.positions = spec::Positions::rope;
    });
    add("no_bias_layernorm", [](spec::Model& m) { m.bias = false, m.qkv_bias = false; });
    add("window",
        [](spec::Model& m) { m.window = 3, m.positions = spec::Positions::rope, m.rotary_fraction = 0.4; });
    add("swiglu_with_bias", [](spec::Model& m) { m.activation = spec::Activation::swiglu; });
    add("wide_heads", [](spec::Model& m) {
        m.head_dim = 10, m.kv_heads = 2, m.positions = spec::Positions::rope, m.rope_theta = 100;
    });
    add("dropout", [](spec::Model& m) { m.dropout = 0.2; });
    add("dropout_parallel", [](spec::Model& m) {
        m.dropout = 0.2, m.parallel_block = true, m.positions = spec::Positions::rope;
    });
    return all;
}

// A model with its memory and one micro-batch of random tokens.
class Rig {
public:
    Rig(const spec::Model& model, DType compute, spec::Recompute recompute, std::int64_t sequences = 3)
        : model_(model),
          device_(kernels::Device::cpu(&ledger_)),
          parameters_(model_, compute, Gradients::yes, &ledger_),
          options_{{sequences, model.seq}, recompute},
          stage_(device_, model_, parameters_, options_, &ledger_) {
        parameters_.initialise(5);
        // Norm weights and biases away from 1 and 0, so that their paths matter.
        std::mt19937 random(9);
        std::normal_distribution<float> normal(0, 0.1F);
        for (const GlobalTensor& tensor : parameters_.layout().tensors) {
            for (float& w : parameters_.master(tensor)) w = tensor.decays() ? 6 * w : w + normal(random);
        }
        parameters_.refresh_copies(device_);
        std::uniform_int_distribution<std::int32_t> token(0, static_cast<std::int32_t>(model.vocab) - 1);
        for (std::int64_t i = 0; i < options_.geometry.tokens(); ++i) {
            inputs_.push_back(token(random));
            targets_.push_back(i % 7 == 3 ? -1 : token(random));
        }
    }

    double loss() { return stage_.forward({inputs_, targets_}, occasion(0), 1.0F); }
    double backward(float scale = 1.0F) {
        std::fill(parameters_.gradients().begin(), parameters_.gradients().end(), 0.0F);
        const double sum = stage_.forward({inputs_, targets_}, occasion(0), scale);
        stage_.backward();
        return sum;
    }
    [[nodiscard]] Occasion occasion(std::int64_t first) const { return {model_.dropout, 11, 4, first}; }

    spec::Model model_;
    MemoryLedger ledger_;
    kernels::Device device_;
    Parameters parameters_;
    StageOptions options_;
    Stage stage_;
    std::vector<std::int32_t> inputs_, targets_;
};

class ModelOptions : public testing::TestWithParam<Case> {};

}  // namespace

// The derivative along the gradient itself: one number that every parameter's gradient enters.
TEST_P(ModelOptions, GradientsMatchFiniteDifferences) {
    Rig rig(GetParam().model, DType::f32, spec::Recompute::none);
    rig.backward();
    const std::vector<float> gradient(rig.parameters_.gradients().begin(), rig.parameters_.gradients().end());
    const std::vector<float> start(rig.parameters_.masters().begin(), rig.parameters_.masters().end());
    for (const GlobalTensor& tensor : rig.parameters_.layout().tensors) {
        const auto first = static_cast<std::size_t>(tensor.offset);
        const auto count = static_cast<std::size_t>(tensor.count());
        double norm = 0;
        for (std::size_t i = first; i < first + count; ++i)
            norm += static_cast<double>(gradient[i]) * gradient[i];
        norm = std::sqrt(norm);
        // A bias on keys that are not rotated has no effect: the loss is flat in any direction.
        const bool flat = norm == 0;
        if (flat) {
            ASSERT_TRUE(tensor.name.ends_with("attention.k.bias")) << tensor.name;
        }
        const double h = 2e-3;
        const auto loss_at = [&](double step) {
            const auto masters = rig.parameters_.masters();
            for (std::size_t i = first; i < first + count; ++i)
                masters[i] =
                    static_cast<float>(start[i] + step * (flat ? 1 / std::sqrt(count) : gradient[i] / norm));
            const double loss = rig.loss();
            std::copy(start.begin(), start.end(), masters.begin());
            return loss;
        };
        // Fourth-order central difference.
        const double slope = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
        EXPECT_NEAR(slope, norm, 1e-2 * norm + 2e-3) << tensor.name;
    }
}

TEST_P(ModelOptions, RecomputationIsBitwiseTheSame) {
    for (const DType compute : {DType::f32, DType::bf16}) {
        Rig none(GetParam().model, compute, spec::Recompute::none);
        const double loss = none.backward();
        const auto bytes = none.parameters_.gradients().size_bytes();
        for (const auto mode : {spec::Recompute::selective, spec::Recompute::full}) {
            Rig other(GetParam().model, compute, mode);
            EXPECT_EQ(other.backward(), loss);
            EXPECT_EQ(
                std::memcmp(other.parameters_.gradients().data(), none.parameters_.gradients().data(), bytes),
                0);
            EXPECT_LT(Stage::planned_bytes(none.model_, compute, other.options_),
                      Stage::planned_bytes(none.model_, compute, none.options_));
        }
    }
}

TEST_P(ModelOptions, Bf16StaysNearFp32) {
    Rig exact(GetParam().model, DType::f32, spec::Recompute::none);
    Rig rounded(GetParam().model, DType::bf16, spec::Recompute::none);
    const double loss = exact.backward();
    EXPECT_NEAR(rounded.backward(), loss, 0.01 * loss);
    // Directions agree: cosine between the two gradients.
    double dot = 0, a = 0, b = 0;
    for (std::size_t i = 0; i < exact.parameters_.gradients().size(); ++i) {
        const double x = exact.parameters_.gradients()[i];
        const double y = rounded.parameters_.gradients()[i];
        dot += x * y, a += x * x, b += y * y;
    }
    EXPECT_GT(dot / std::sqrt(a * b), 0.999);
}

// A sample's loss and gradients don't depend on what it shares a micro-batch with.
TEST_P(ModelOptions, MicroBatchesAddUp) {
    Rig whole(GetParam().model, DType::f32, spec::Recompute::none, 4);
    const double loss = whole.backward();
    Rig single(GetParam().model, DType::f32, spec::Recompute::none, 1);
    std::fill(single.parameters_.gradients().begin(), single.parameters_.gradients().end(), 0.0F);
    double sum = 0;
    const auto seq = static_cast<std::size_t>(whole.model_.seq);
    for (std::size_t s = 0; s < 4; ++s) {
        sum += single.stage_.forward(
            {std::span(whole.inputs_).subspan(s * seq, seq), std::span(whole.targets_).subspan(s * seq, seq)},
            single.occasion(static_cast<std::int64_t>(s)), 1.0F);
        single.stage_.backward();
    }
    EXPECT_NEAR(sum, loss, 1e-6 * loss);
    for (const GlobalTensor& tensor : whole.parameters_.layout().tensors) {
        double difference = 0;
        double norm = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.count()); ++i) {
            const double x = whole.parameters_.gradient(tensor)[i];
            difference += std::pow(x - single.parameters_.gradient(tensor)[i], 2);
            norm += x * x;
        }
        EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(norm) + 1e-7) << tensor.name;
    }
}

TEST_P(ModelOptions, DecoderAgreesWithTheTrainingForward) {
    spec::Model m = GetParam().model;
    m.dropout = 0;
    Rig rig(m, DType::f32, spec::Recompute::none, 1);
    // The loss of one target at the last position gives its logarithm of probability.
    std::fill(rig.targets_.begin(), rig.targets_.end(), -1);
    rig.targets_.back() = 5;
    const double loss = rig.stage_.evaluate({rig.inputs_, rig.targets_});
    for (const std::size_t first : {std::size_t{11}, std::size_t{1}, std::size_t{4}}) {
        Decoder decoder(rig.device_, rig.model_, rig.parameters_, m.seq, nullptr);
        std::span<const float> logits = decoder.feed(std::span(rig.inputs_).first(first));
        for (std::size_t i = first; i < rig.inputs_.size(); ++i)
            logits = decoder.feed(std::span(rig.inputs_).subspan(i, 1));
        double sum = 0;
        for (const float l : logits) sum += std::exp(static_cast<double>(l));
        EXPECT_NEAR(std::log(sum) - static_cast<double>(logits[5]), loss, 1e-5);
    }
}

TEST_P(ModelOptions, PlannedMemoryIsWhatIsTaken) {
    Rig rig(GetParam().model, DType::bf16, spec::Recompute::selective);
    EXPECT_EQ(rig.ledger_.by_name().at("activations"),
              Stage::planned_bytes(rig.model_, DType::bf16, rig.options_));
}

INSTANTIATE_TEST_SUITE_P(All, ModelOptions, testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

// A12: initial values depend on seed, name and index alone.
TEST(Parameters, A12_initial_values_are_keyed_by_name) {
    spec::Model small = cases().front().model;
    spec::Model deep = small;
    deep.layers = 5;
    const Parameters a = [&] {
        Parameters p(small, DType::f32, Gradients::no, nullptr);
        p.initialise(1);
        return p;
    }();
    const Parameters b = [&] {
        Parameters p(deep, DType::f32, Gradients::no, nullptr);
        p.initialise(1);
        return p;
    }();
    const Parameters c = [&] {
        Parameters p(small, DType::f32, Gradients::no, nullptr);
        p.initialise(2);
        return p;
    }();
    const auto values = [](const Parameters& p, const char* name) {
        const auto part = p.master(*p.layout().find(name));
        return std::vector<float>(part.begin(), part.end());
    };
    EXPECT_EQ(values(a, "layers.1.mlp.up.weight"), values(b, "layers.1.mlp.up.weight"));
    EXPECT_NE(values(a, "layers.1.mlp.up.weight"), values(c, "layers.1.mlp.up.weight"));
    EXPECT_NE(values(a, "layers.1.mlp.up.weight"), values(a, "layers.0.mlp.up.weight"));
    for (const float w : values(a, "layers.0.mlp.norm.weight")) EXPECT_EQ(w, 1.0F);
    for (const float w : values(a, "layers.0.mlp.up.bias")) EXPECT_EQ(w, 0.0F);
}

}  // namespace longhaul::model
