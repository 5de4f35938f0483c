// The attention branch of a block, from the normed input to what is added to the residual stream.
#pragma once

#include "model/environment.h"
#include "tensor/arena.h"

namespace longhaul::model {

// What the forward leaves for the backward. A = heads x head_dim, C = (heads + 2 kv_heads) x head_dim.
struct AttentionActivations {
    TensorView qkv;  // [T, C], query and key rotated
    TensorView mix;  // [T, A], weighted values
    TensorView lse;  // fp32 [sequences x heads, seq]
};
AttentionActivations lay_out_attention(Arena& arena, const spec::Model& model, const Geometry& geometry,
                                       DType compute);

// Scratch of the backward.
struct AttentionGradients {
    TensorView d_mix;  // [T, A]
    TensorView d_qkv;  // [T, C]
};
AttentionGradients lay_out_attention_gradients(Arena& arena, const spec::Model& model,
                                               const Geometry& geometry, DType compute);

// branch[T, H] = output projection of attention over normed[T, H].
void attention_forward(const Environment& env, const BlockSlots& slots, std::int64_t block,
                       ConstTensorView normed, const AttentionActivations& a, TensorView branch);
// The part of the forward that a recomputing backward needs: up to `mix`, without the output projection.
void attention_recompute(const Environment& env, const BlockSlots& slots, std::int64_t block,
                         ConstTensorView normed, const AttentionActivations& a);
// d_normed[T, H] (+)= gradient; parameters' gradients are added to.
void attention_backward(const Environment& env, const BlockSlots& slots, std::int64_t block,
                        ConstTensorView d_branch, ConstTensorView normed, const AttentionActivations& a,
                        const AttentionGradients& g, TensorView d_normed, kernels::Accumulate accumulate);

}  // namespace longhaul::model
