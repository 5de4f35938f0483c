// Query, key and value in one product, rotation, attention, output projection; and back.
#include "model/attention.h"

namespace longhaul::model {

namespace {

// Columns of the fused product.
template <typename View>
struct Heads {
    View q, k, v;
};

template <typename View>
Heads<View> split(const spec::Model& m, const View& qkv) {
    const std::int64_t queries = m.heads * m.dim();
    const std::int64_t keys = m.kv() * m.dim();
    return {qkv.column_range(0, queries), qkv.column_range(queries, keys),
            qkv.column_range(queries + keys, keys)};
}

kernels::AttentionShape shape_of(const Environment& env) {
    const spec::Model& m = env.model;
    return {env.geometry.sequences, env.geometry.seq, env.geometry.seq, m.heads, m.kv(), m.dim(), m.window};
}

void rotate(const Environment& env, const Heads<TensorView>& heads, bool inverse) {
    if (!env.rope) return;
    kernels::rope(env.device, env.rope, env.model.dim(), env.geometry.seq, 0, inverse, heads.q);
    kernels::rope(env.device, env.rope, env.model.dim(), env.geometry.seq, 0, inverse, heads.k);
}

}  // namespace

AttentionActivations lay_out_attention(Arena& arena, const spec::Model& m, const Geometry& geometry,
                                       DType compute) {
    AttentionActivations a;
    a.qkv = arena.take("qkv", compute, {geometry.tokens(), m.qkv_columns()});
    a.mix = arena.take("attention mix", compute, {geometry.tokens(), m.heads * m.dim()});
    a.lse = arena.take("attention lse", DType::f32, {geometry.sequences, m.heads, geometry.seq});
    return a;
}

AttentionGradients lay_out_attention_gradients(Arena& arena, const spec::Model& m, const Geometry& geometry,
                                               DType compute) {
    AttentionGradients g;
    g.d_mix = arena.take("d attention mix", compute, {geometry.tokens(), m.heads * m.dim()});
    g.d_qkv = arena.take("d qkv", compute, {geometry.tokens(), m.qkv_columns()});
    return g;
}

void attention_recompute(const Environment& env, const BlockSlots& slots, std::int64_t block,
                         ConstTensorView normed, const AttentionActivations& a) {
    kernels::linear_forward(env.device, normed, env.parameters.matrix(slots.qkv_weight),
                            env.parameters.vector(slots.qkv_bias), a.qkv);
    const Heads<TensorView> heads = split(env.model, a.qkv);
    rotate(env, heads, false);
    kernels::attention_forward(env.device, shape_of(env), heads.q, heads.k, heads.v,
                               env.mask(site_name(block, "attention")), a.mix, a.lse);
}

void attention_forward(const Environment& env, const BlockSlots& slots, std::int64_t block,
                       ConstTensorView normed, const AttentionActivations& a, TensorView branch) {
    attention_recompute(env, slots, block, normed, a);
    kernels::linear_forward(env.device, a.mix, env.parameters.matrix(slots.output_weight),
                            env.parameters.vector(slots.output_bias), branch);
}

void attention_backward(const Environment& env, const BlockSlots& slots, std::int64_t block,
                        ConstTensorView d_branch, ConstTensorView normed, const AttentionActivations& a,
                        const AttentionGradients& g, TensorView d_normed, kernels::Accumulate accumulate) {
    const Parameters& p = env.parameters;
    kernels::linear_input_grad(env.device, d_branch, p.matrix(slots.output_weight), g.d_mix);
    kernels::linear_weight_grad(env.device, d_branch, a.mix, p.gradient(slots.output_weight),
                                p.gradient(slots.output_bias));

    const Heads<TensorView> heads = split(env.model, a.qkv);
    const Heads<TensorView> d_heads = split(env.model, g.d_qkv);
    kernels::attention_backward(env.device, shape_of(env), heads.q, heads.k, heads.v, a.mix, a.lse, g.d_mix,
                                env.mask(site_name(block, "attention")), d_heads.q, d_heads.k, d_heads.v);
    rotate(env, d_heads, true);

    kernels::linear_input_grad(env.device, g.d_qkv, p.matrix(slots.qkv_weight), d_normed, accumulate);
    kernels::linear_weight_grad(env.device, g.d_qkv, normed, p.gradient(slots.qkv_weight),
                                p.gradient(slots.qkv_bias));
}

}  // namespace longhaul::model
