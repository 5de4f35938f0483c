// Both forms of the MLP.
#include "model/mlp.h"

namespace longhaul::model {

namespace {

bool gated(const Environment& env) {
    return env.model.activation == spec::Activation::swiglu;
}

}  // namespace

std::int64_t up_columns(const spec::Model& m) {
    return m.activation == spec::Activation::swiglu ? 2 * m.feed_forward() : m.feed_forward();
}

MlpGradients lay_out_mlp_gradients(Arena& arena, const spec::Model& m, const Geometry& geometry,
                                   DType compute) {
    MlpGradients g;
    g.d_act = arena.take("d activation", compute, {geometry.tokens(), m.feed_forward()});
    g.d_up = m.activation == spec::Activation::swiglu
                 ? arena.take("d up", compute, {geometry.tokens(), up_columns(m)})
                 : g.d_act;
    return g;
}

void mlp_recompute_up(const Environment& env, const BlockSlots& slots, ConstTensorView normed,
                      const MlpActivations& a) {
    // GELU adds the bias in its own pass, so that its backward can sum the bias gradient in the same pass
    // too.
    const ConstTensorView bias = gated(env) ? env.parameters.vector(slots.up_bias) : ConstTensorView{};
    kernels::linear_forward(env.device, normed, env.parameters.matrix(slots.up_weight), bias, a.up);
}

void mlp_recompute_act(const Environment& env, const BlockSlots& slots, const MlpActivations& a) {
    if (gated(env)) {
        kernels::swiglu_forward(env.device, a.up, a.act);
    } else {
        kernels::bias_gelu_forward(env.device, a.up, env.parameters.vector(slots.up_bias), a.act);
    }
}

void mlp_forward(const Environment& env, const BlockSlots& slots, ConstTensorView normed,
                 const MlpActivations& a, TensorView branch) {
    mlp_recompute_up(env, slots, normed, a);
    mlp_recompute_act(env, slots, a);
    kernels::linear_forward(env.device, a.act, env.parameters.matrix(slots.down_weight),
                            env.parameters.vector(slots.down_bias), branch);
}

void mlp_backward(const Environment& env, const BlockSlots& slots, ConstTensorView d_branch,
                  ConstTensorView normed, const MlpActivations& a, const MlpGradients& g, TensorView d_normed,
                  kernels::Accumulate accumulate) {
    const Parameters& p = env.parameters;
    kernels::linear_input_grad(env.device, d_branch, p.matrix(slots.down_weight), g.d_act);
    kernels::linear_weight_grad(env.device, d_branch, a.act, p.gradient(slots.down_weight),
                                p.gradient(slots.down_bias));

    TensorView d_up_bias;  // of the product; GELU sums its own
    if (gated(env)) {
        kernels::swiglu_backward(env.device, g.d_act, a.up, g.d_up);
        d_up_bias = p.gradient(slots.up_bias);
    } else {
        kernels::bias_gelu_backward(env.device, g.d_act, a.up, p.vector(slots.up_bias), g.d_up,
                                    p.gradient(slots.up_bias));
    }
    kernels::linear_input_grad(env.device, g.d_up, p.matrix(slots.up_weight), d_normed, accumulate);
    kernels::linear_weight_grad(env.device, g.d_up, normed, p.gradient(slots.up_weight), d_up_bias);
}

}  // namespace longhaul::model
