// The end of the model: final norm, output product and cross-entropy, a chunk of tokens at a time, so that
// all logits never exist at once. Forward and backward go in one pass, since a chunk's logits are gone after
// it.
#pragma once

#include "model/norm.h"
#include "tensor/arena.h"

namespace longhaul::model {

class Head {
public:
    explicit Head(const Layout& layout)
        : norm_{layout.final_norm_weight, layout.final_norm_bias},
          weight_(layout.head_weight),
          bias_(layout.head_bias) {}

    void lay_out(Arena& arena, const spec::Model& model, const Geometry& geometry, DType compute);

    // Sum of the losses of tokens with a target >= 0, in nats. x[T, H], targets int32 [T].
    double forward(const Environment& env, ConstTensorView x, ConstTensorView targets) const;
    // The same, and in gradient[T, H] the derivative of scale x that sum with respect to x; parameters'
    // gradients added to.
    double forward_backward(const Environment& env, ConstTensorView x, ConstTensorView targets, float scale,
                            TensorView gradient) const;
    // logits fp32 [rows, vocab] of x[rows, H], at most a chunk of rows.
    void logits(const Environment& env, ConstTensorView x, TensorView logits) const;

private:
    double sum_losses(std::int64_t tokens) const;
    template <typename PerChunk>
    double each_chunk(const Environment& env, ConstTensorView x, const PerChunk& per_chunk) const;

    NormSlot norm_;
    Slot weight_, bias_;
    std::int64_t chunk_ = 0;
    TensorView normed_;  // [T, H]
    NormStatistics statistics_;
    TensorView losses_;    // fp32 [T]
    TensorView logits_;    // fp32 [chunk, vocab]
    TensorView d_logits_;  // [chunk, vocab]; logits_ itself in fp32
    TensorView d_normed_;  // [T, H]
};

}  // namespace longhaul::model
