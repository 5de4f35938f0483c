// The MLP branch of a block: two products around GELU, or three around SwiGLU.
#pragma once

#include "model/environment.h"
#include "tensor/arena.h"

namespace longhaul::model {

// U = ffn for gelu, 2 ffn (gate beside up) for swiglu.
struct MlpActivations {
    TensorView up;   // [T, U], before the activation; for gelu without its bias, which the activation adds
    TensorView act;  // [T, ffn]
};
// Columns of `up`.
[[nodiscard]] std::int64_t up_columns(const spec::Model& model);

// Scratch of the backward.
struct MlpGradients {
    TensorView d_act;  // [T, ffn]
    TensorView d_up;   // [T, U]; d_act itself for gelu
};
MlpGradients lay_out_mlp_gradients(Arena& arena, const spec::Model& model, const Geometry& geometry,
                                   DType compute);

// branch[T, H] = down(act(up(normed)))
void mlp_forward(const Environment& env, const BlockSlots& slots, ConstTensorView normed,
                 const MlpActivations& a, TensorView branch);
// Parts of the forward that a recomputing backward needs.
void mlp_recompute_up(const Environment& env, const BlockSlots& slots, ConstTensorView normed,
                      const MlpActivations& a);
void mlp_recompute_act(const Environment& env, const BlockSlots& slots, const MlpActivations& a);
// d_normed[T, H] (+)= gradient; parameters' gradients are added to.
void mlp_backward(const Environment& env, const BlockSlots& slots, ConstTensorView d_branch,
                  ConstTensorView normed, const MlpActivations& a, const MlpGradients& g, TensorView d_normed,
                  kernels::Accumulate accumulate);

}  // namespace longhaul::model
