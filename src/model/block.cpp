// The block's dataflow. Recomputation calls the very functions of the forward on the very same inputs, so
// gradients are bitwise equal in all modes.
#include "model/block.h"

namespace longhaul::model {

namespace {

using kernels::Accumulate;

NormSlot attention_norm(const BlockSlots& s) {
    return {s.attention_norm_weight, s.attention_norm_bias};
}
NormSlot mlp_norm(const BlockSlots& s) {
    return {s.mlp_norm_weight, s.mlp_norm_bias};
}

NormStatistics lay_out_statistics(Arena& arena, const Geometry& geometry) {
    NormStatistics s;
    s.mean = arena.take("norm mean", DType::f32, {geometry.tokens()});
    s.rstd = arena.take("norm rstd", DType::f32, {geometry.tokens()});
    return s;
}

// Cheap to recompute: outputs of norms and of the activation. All inputs of a product, so none of them is
// small.
void lay_out_cheap(Arena& arena, const spec::Model& m, const Geometry& geometry, DType compute,
                   BlockActivations& a) {
    const Shape hidden{geometry.tokens(), m.hidden};
    a.normed = arena.take("normed", compute, hidden);
    a.mid_normed = m.parallel_block ? a.normed : arena.take("mid normed", compute, hidden);
    a.mlp.act = arena.take("activation", compute, {geometry.tokens(), m.feed_forward()});
}

// What takes a product or attention to compute again, and small statistics.
void lay_out_costly(Arena& arena, const spec::Model& m, const Geometry& geometry, DType compute,
                    BlockActivations& a) {
    a.statistics = lay_out_statistics(arena, geometry);
    a.attention = lay_out_attention(arena, m, geometry, compute);
    if (!m.parallel_block) {
        a.mid = arena.take("mid", compute, {geometry.tokens(), m.hidden});
        a.mid_statistics = lay_out_statistics(arena, geometry);
    }
    a.mlp.up = arena.take("up", compute, {geometry.tokens(), up_columns(m)});
}

// The gradient that enters a branch: dy behind the branch's dropout.
ConstTensorView masked(const Environment& env, const kernels::Dropout& mask, ConstTensorView gradient,
                       TensorView scratch) {
    if (!mask.on()) return gradient;
    kernels::dropout(env.device, gradient, mask, env.geometry.seq, scratch);
    return scratch;
}

void apply_dropout(const Environment& env, const kernels::Dropout& mask, TensorView x) {
    if (mask.on()) kernels::dropout(env.device, x, mask, env.geometry.seq, x);
}

}  // namespace

BlockActivations lay_out_shared_activations(Arena& arena, const spec::Model& m, const Geometry& geometry,
                                            DType compute, spec::Recompute recompute) {
    BlockActivations a;
    if (recompute != spec::Recompute::none) lay_out_cheap(arena, m, geometry, compute, a);
    if (recompute == spec::Recompute::full) lay_out_costly(arena, m, geometry, compute, a);
    return a;
}

BlockScratch lay_out_block_scratch(Arena& arena, const spec::Model& m, const Geometry& geometry,
                                   DType compute) {
    BlockScratch s;
    s.d_normed = arena.take("d normed", compute, {geometry.tokens(), m.hidden});
    {
        const ArenaScope scope(arena);
        s.attention = lay_out_attention_gradients(arena, m, geometry, compute);
    }
    s.mlp = lay_out_mlp_gradients(arena, m, geometry, compute);
    return s;
}

void Block::lay_out(Arena& kept, const spec::Model& m, const Geometry& geometry, DType compute,
                    spec::Recompute recompute, const BlockActivations& shared) {
    mode_ = recompute;
    a_ = shared;
    if (recompute == spec::Recompute::none) lay_out_cheap(kept, m, geometry, compute, a_);
    if (recompute != spec::Recompute::full) lay_out_costly(kept, m, geometry, compute, a_);
}

void Block::attention_into_mid(const Environment& env, ConstTensorView x, TensorView mid) const {
    attention_forward(env, slots_, index_, a_.normed, a_.attention, mid);
    apply_dropout(env, env.mask(site_name(index_, "attention residual")), mid);
    kernels::add(env.device, x, mid, mid);
}

void Block::forward(const Environment& env, ConstTensorView x, const BlockScratch& scratch,
                    TensorView y) const {
    norm_forward(env, attention_norm(slots_), x, a_.normed, a_.statistics);
    ConstTensorView residual = scratch.branch;
    if (env.model.parallel_block) {
        attention_into_mid(env, x, scratch.branch);
    } else {
        attention_into_mid(env, x, a_.mid);
        residual = a_.mid;
        norm_forward(env, mlp_norm(slots_), a_.mid, a_.mid_normed, a_.mid_statistics);
    }
    mlp_forward(env, slots_, a_.mid_normed, a_.mlp, y);
    apply_dropout(env, env.mask(site_name(index_, "mlp residual")), y);
    kernels::add(env.device, residual, y, y);
}

void Block::recompute(const Environment& env, ConstTensorView x, const BlockScratch& /*scratch*/) const {
    norm_forward(env, attention_norm(slots_), x, a_.normed, a_.statistics);
    const bool full = mode_ == spec::Recompute::full;
    if (!env.model.parallel_block) {
        if (full) attention_into_mid(env, x, a_.mid);
        norm_forward(env, mlp_norm(slots_), a_.mid, a_.mid_normed, a_.mid_statistics);
    } else if (full) {
        attention_recompute(env, slots_, index_, a_.normed, a_.attention);
    }
    if (full) mlp_recompute_up(env, slots_, a_.mid_normed, a_.mlp);
    mlp_recompute_act(env, slots_, a_.mlp);
}

void Block::backward(const Environment& env, ConstTensorView x, const BlockScratch& scratch,
                     TensorView gradient) const {
    if (mode_ != spec::Recompute::none) recompute(env, x, scratch);

    const ConstTensorView d_mlp =
        masked(env, env.mask(site_name(index_, "mlp residual")), gradient, scratch.branch);
    mlp_backward(env, slots_, d_mlp, a_.mid_normed, a_.mlp, scratch.mlp, scratch.d_normed, Accumulate::no);

    auto into_attention = Accumulate::yes;
    if (!env.model.parallel_block) {
        // gradient becomes the one of mid: what passed by the MLP plus what went through its norm.
        norm_backward(env, mlp_norm(slots_), scratch.d_normed, a_.mid, a_.mid_statistics, gradient,
                      Accumulate::yes);
        into_attention = Accumulate::no;
    }
    const ConstTensorView d_attention =
        masked(env, env.mask(site_name(index_, "attention residual")), gradient, scratch.branch);
    attention_backward(env, slots_, index_, d_attention, a_.normed, a_.attention, scratch.attention,
                       scratch.d_normed, into_attention);
    norm_backward(env, attention_norm(slots_), scratch.d_normed, x, a_.statistics, gradient, Accumulate::yes);
}

}  // namespace longhaul::model
