// One transformer block, serial or parallel, with its backward and its choice of what to keep and what to
// recompute.
//   serial:   mid = x + attention(norm1(x));  y = mid + mlp(norm2(mid))
//   parallel: y = x + mlp(norm(x)) + attention(norm(x))
#pragma once

#include "model/attention.h"
#include "model/mlp.h"
#include "model/norm.h"
#include "spec/run.h"

namespace longhaul::model {

// All of [T, H] unless said otherwise. What a block keeps for its backward lies in memory of its own; what is
// recomputed lies in memory that all blocks share.
struct BlockActivations {
    TensorView normed;  // norm(x), norm1(x)
    NormStatistics statistics;
    AttentionActivations attention;
    TensorView mid;         // serial only
    TensorView mid_normed;  // serial only; `normed` itself in a parallel block
    NormStatistics mid_statistics;
    MlpActivations mlp;
};

// Scratch that all blocks share.
struct BlockScratch {
    TensorView branch;    // [T, H]: a branch before it is added; a masked gradient in the backward
    TensorView d_normed;  // [T, H]
    AttentionGradients attention;
    MlpGradients mlp;  // overlays attention: never live at once
};

class Block {
public:
    Block(const BlockSlots& slots, std::int64_t index) : slots_(slots), index_(index) {}

    // Lays out what this block keeps under `recompute` in `kept`; everything else is taken from `shared`.
    void lay_out(Arena& kept, const spec::Model& model, const Geometry& geometry, DType compute,
                 spec::Recompute recompute, const BlockActivations& shared);

    // y[T, H]; x stays needed until the backward.
    void forward(const Environment& env, ConstTensorView x, const BlockScratch& scratch, TensorView y) const;
    // In place: gradient[T, H] comes as dy and leaves as dx. Parameters' gradients are added to.
    void backward(const Environment& env, ConstTensorView x, const BlockScratch& scratch,
                  TensorView gradient) const;

private:
    void recompute(const Environment& env, ConstTensorView x, const BlockScratch& scratch) const;
    void attention_into_mid(const Environment& env, ConstTensorView x, TensorView mid) const;

    BlockSlots slots_;
    std::int64_t index_;
    spec::Recompute mode_ = spec::Recompute::none;
    BlockActivations a_;
};

// Memory for everything that blocks may recompute, and scratch of the backward (all but `branch`, which the
// forward uses too).
BlockActivations lay_out_shared_activations(Arena& arena, const spec::Model& model, const Geometry& geometry,
                                            DType compute, spec::Recompute recompute);
BlockScratch lay_out_block_scratch(Arena& arena, const spec::Model& model, const Geometry& geometry,
                                   DType compute);

}  // namespace longhaul::model
