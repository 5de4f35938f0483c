// AdamW and LAMB against the formulas in double, decay and trust ratios by tensor, clipping, schedule of
// nothing else.
#include "optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace longhaul::optim {

namespace {

spec::Model small_model(spec::Family family) {
    spec::Model m;
    m.family = family;
    m.layers = 1;
    m.hidden = 8;
    m.heads = 2;
    m.vocab = 13;
    m.seq = 5;
    if (family != spec::Family::gpt2) {
        m.norm = spec::Norm::rmsnorm;
        m.activation = spec::Activation::swiglu;
        m.ffn = 12;
        m.positions = spec::Positions::rope;
        m.bias = false;
        m.qkv_bias = true;
        m.tie_embeddings = false;
    }
    return m;
}

// The update of one tensor in double.
struct Plain {
    std::vector<double> w, m, v;
    void update(const spec::Optimizer& o, const std::vector<double>& g, double lr, std::int64_t t,
                bool decays) {
        std::vector<double> u(w.size());
        double ww = 0;
        double uu = 0;
        for (std::size_t i = 0; i < w.size(); ++i) {
            m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
            v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
            const double mh = m[i] / (1 - std::pow(o.beta1, static_cast<double>(t)));
            const double vh = v[i] / (1 - std::pow(o.beta2, static_cast<double>(t)));
            u[i] = mh / (std::sqrt(vh) + o.eps) + (decays ? o.weight_decay : 0.0) * w[i];
            ww += w[i] * w[i];
            uu += u[i] * u[i];
        }
        double trust = 1;
        if (o.name == spec::OptimizerName::lamb && ww > 0 && uu > 0) trust = std::sqrt(ww / uu);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] -= lr * trust * u[i];
    }
};

void check(spec::OptimizerName name, spec::Family family, DType compute) {
    const kernels::Device device = kernels::Device::cpu();
    const spec::Model model = small_model(family);
    model::Parameters parameters(model, compute, model::Gradients::yes, nullptr);
    parameters.initialise(3);
    parameters.refresh_copies(device);
    spec::Optimizer options;
    options.name = name;
    options.grad_clip = 1.0;
    Optimizer optimizer(options, device, parameters, nullptr);

    const auto& tensors = parameters.layout().tensors;
    std::vector<Plain> plain;
    for (const auto& tensor : tensors) {
        const auto w = parameters.master(tensor);
        plain.push_back({{w.begin(), w.end()}, std::vector<double>(w.size()), std::vector<double>(w.size())});
    }
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.3F);
    for (std::int64_t t = 1; t <= 5; ++t) {
        double squares = 0;
        std::vector<std::vector<double>> gradients;
        for (const auto& tensor : tensors) {
            std::vector<double> g;
            for (float& x : parameters.gradient(tensor)) {
                x = normal(random);
                g.push_back(x);
                squares += static_cast<double>(x) * x;
            }
            gradients.push_back(g);
        }
        const GradientNorms norms = optimizer.gradient_norms();
        EXPECT_NEAR(norms.global, std::sqrt(squares), 1e-9 * std::sqrt(squares));
        const double scale = norms.global > 1 ? 1 / norms.global : 1;
        optimizer.step(t, 0.01, norms.global);
        optimizer.zero_gradients();
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            for (double& g : gradients[i]) g *= scale;
            plain[i].update(options, gradients[i], 0.01, t, tensors[i].shape.rank() >= 2);
            const auto w = parameters.master(tensors[i]);
            for (std::size_t j = 0; j < w.size(); ++j) {
                ASSERT_NEAR(w[j], plain[i].w[j], 3e-6 * (1 + std::abs(plain[i].w[j])))
                    << tensors[i].name << " " << j << " update " << t;
                if (compute == DType::bf16) {
                    ASSERT_EQ(parameters.copy(tensors[i])[j].bits, bf16(w[j]).bits);
                }
            }
        }
        for (const float g : parameters.gradients()) ASSERT_EQ(g, 0.0F);
    }
}

}  // namespace

TEST(Optimizer, AdamWFollowsTheFormula) {
    check(spec::OptimizerName::adamw, spec::Family::gpt2, DType::f32);
    check(spec::OptimizerName::adamw, spec::Family::llama, DType::bf16);
}

TEST(Optimizer, LambFollowsTheFormulaByTensorOfTheFamily) {
    check(spec::OptimizerName::lamb, spec::Family::gpt2, DType::f32);
    check(spec::OptimizerName::lamb, spec::Family::qwen2, DType::f32);
    check(spec::OptimizerName::lamb, spec::Family::llama, DType::bf16);
}

TEST(Optimizer, LambTakesRatioOneWhereANormIsZero) {
    // Biases start at zero: their first update must not be multiplied by |w| = 0.
    const kernels::Device device = kernels::Device::cpu();
    const spec::Model model = small_model(spec::Family::gpt2);
    model::Parameters parameters(model, DType::f32, model::Gradients::yes, nullptr);
    parameters.initialise(3);
    spec::Optimizer options;
    options.name = spec::OptimizerName::lamb;
    options.grad_clip = 0;
    Optimizer optimizer(options, device, parameters, nullptr);
    for (float& g : parameters.gradients()) g = 0.5F;
    optimizer.step(1, 0.01, optimizer.gradient_norms().global);
    const auto* bias = parameters.layout().find("layers.0.attention.output.bias");
    ASSERT_NE(bias, nullptr);
    for (const float b : parameters.master(*bias)) EXPECT_NEAR(b, -0.01F, 1e-6F);
}

TEST(Optimizer, NormOfGradientsSeesWhatIsNotFinite) {
    const kernels::Device device = kernels::Device::cpu();
    model::Parameters parameters(small_model(spec::Family::gpt2), DType::f32, model::Gradients::yes, nullptr);
    const Optimizer optimizer(spec::Optimizer{}, device, parameters, nullptr);
    EXPECT_EQ(optimizer.gradient_norms().global, 0.0);
    parameters.gradients()[17] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(std::isfinite(optimizer.gradient_norms().global));
    parameters.gradients()[17] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(std::isfinite(optimizer.gradient_norms().global));
    // Large but finite gradients are finite: squares are summed in double.
    parameters.gradients()[17] = 1e30F;
    EXPECT_NEAR(optimizer.gradient_norms().global, 1e30, 1e24);
}

}  // namespace longhaul::optim
