// Attention backward: probabilities are computed again from the forward's log-sum, block by block; keys' and
// values' gradients of a kv head are summed over its query heads and blocks in a fixed order.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "base/parallel_for.h"
#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/attention_pairs.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/state.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

// Scratch of a task, cut up.
struct BackwardScratch {
    float *keys_t, *values_t;   // [block][dim][kKeyBlock]
    float* keys;                // [keys][dim]
    float *dk, *dv;             // [keys][dim], sums
    float *query, *d_out, *dq;  // [kQueryBlock][dim]
    float *p, *dp;              // [kQueryBlock][kKeyBlock]
    float* delta;               // [kQueryBlock]

    BackwardScratch(const AttentionTask& t, float* at) {
        const std::int64_t dim = padded_dim(t.head_dim);
        const std::int64_t all = key_blocks(t.keys) * kKeyBlock * dim;
        const auto take = [&](std::int64_t floats) {
            float* start = at;
            at += floats;
            return start;
        };
        keys_t = take(all);
        values_t = take(all);
        keys = take(all);
        dk = take(all);
        dv = take(all);
        query = take(kQueryBlock * dim);
        d_out = take(kQueryBlock * dim);
        dq = take(kQueryBlock * dim);
        p = take(kQueryBlock * kKeyBlock);
        dp = take(kQueryBlock * kKeyBlock);
        delta = take(kQueryBlock);
    }
};

// One head's block of queries.
struct QueryBlock {
    std::int64_t head, first, rows;
};

// p = probabilities, dp = their gradient (dropout undone), of a query block against key block b.
template <typename T>
void probabilities(const AttentionTask& t, const AttentionBackward<T>& a, const Dropout& mask,
                   const BackwardScratch& s, const QueryBlock& q, std::int64_t b) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    product(s.query, dim, 1, s.keys_t + b * kKeyBlock * dim, kKeyBlock, s.p, kKeyBlock, q.rows, kKeyBlock,
            t.head_dim, false);
    hide(t, q.first, q.rows, b, s.p);
    product(s.d_out, dim, 1, s.values_t + b * kKeyBlock * dim, kKeyBlock, s.dp, kKeyBlock, q.rows, kKeyBlock,
            t.head_dim, false);
    if (mask.on()) mask_block(t, mask, t.head_number + q.head, q.first, q.rows, b, s.dp);
    for (std::int64_t r = 0; r < q.rows; ++r) {
        const Vec lse = hn::Set(Tag(), a.lse[q.head * t.queries + q.first + r]);
        for (std::int64_t j = 0; j < kKeyBlock; j += n) {
            const Vec score = load(s.p + r * kKeyBlock + j);
            const Vec p = hn::Exp(Tag(), hn::Max(hn::Sub(score, lse), hn::Set(Tag(), -200.0F)));
            store(hn::IfThenElseZero(hn::Gt(score, hn::Set(Tag(), std::numeric_limits<float>::lowest())), p),
                  s.p + r * kKeyBlock + j);
        }
    }
}

// The gradients of a query's scores sum to zero, as softmax doesn't see a shift; so do the keys' gradients of
// a sequence, and the gradient of a bias on keys is zero. What rounding leaves of it, AdamW would blow up to
// whole steps (the moments cancel in m / sqrt(v)). So the remainder of each column is taken out of its
// smallest element, where it rounds least.
void settle_keys(const AttentionTask& t, const BackwardScratch& s, std::int64_t dim) {
    constexpr std::int64_t kColumns = 16;
    for (std::int64_t first = 0; first < dim; first += kColumns) {
        double sums[kColumns] = {};
        std::int64_t smallest[kColumns] = {};
        for (std::int64_t r = 0; r < t.keys; ++r) {
            const float* row = s.dk + r * dim + first;
            for (std::int64_t c = 0; c < kColumns; ++c) {
                sums[c] += static_cast<double>(row[c]);
                if (std::abs(row[c]) < std::abs(s.dk[smallest[c] * dim + first + c])) smallest[c] = r;
            }
        }
        for (std::int64_t c = 0; c < kColumns; ++c) {
            float& value = s.dk[smallest[c] * dim + first + c];
            value = static_cast<float>(static_cast<double>(value) - sums[c]);
        }
    }
}

template <typename T>
void query_block(const AttentionTask& t, const AttentionBackward<T>& a, const Dropout& mask,
                 const BackwardScratch& s, const QueryBlock& q) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    const std::int64_t column = q.head * t.head_dim;
    pack_rows(a.q + q.first * t.q_stride + column, t.q_stride, q.rows, t.head_dim, t.scale, s.query, dim,
              q.rows);
    pack_rows(a.d_o + q.first * a.d_o_stride + column, a.d_o_stride, q.rows, t.head_dim, 1.0F, s.d_out, dim,
              q.rows);
    std::fill_n(s.dq, q.rows * dim, 0.0F);
    const KeyRange range = visible_blocks(t, q.first, q.rows);
    output_products(t, a, q.head, q.first, q.rows, s.delta);
    for (std::int64_t b = range.first_block; b < range.end_block; ++b) {
        probabilities(t, a, mask, s, q, b);
        // dp becomes the gradient of the scores, p the probabilities behind dropout.
        for (std::int64_t r = 0; r < q.rows; ++r) {
            const Vec delta = hn::Set(Tag(), s.delta[r]);
            for (std::int64_t j = 0; j < kKeyBlock; j += n) {
                float* at = s.dp + r * kKeyBlock + j;
                store(hn::Mul(load(s.p + r * kKeyBlock + j), hn::Sub(load(at), delta)), at);
            }
        }
        if (mask.on()) mask_block(t, mask, t.head_number + q.head, q.first, q.rows, b, s.p);
        const std::int64_t at = b * kKeyBlock * dim;
        product(s.p, 1, kKeyBlock, s.d_out, dim, s.dv + at, dim, kKeyBlock, dim, q.rows, true);
        product(s.dp, 1, kKeyBlock, s.query, dim, s.dk + at, dim, kKeyBlock, dim, q.rows, true);
        product(s.dp, kKeyBlock, 1, s.keys + at, dim, s.dq, dim, q.rows, dim, kKeyBlock, true);
    }
    const Vec scale = hn::Set(Tag(), t.scale);
    for (std::int64_t r = 0; r < q.rows; ++r) {
        T* to = a.dq + (q.first + r) * a.dq_stride + column;
        for (std::int64_t c = 0; c < t.head_dim; c += n)
            store(hn::Mul(load(s.dq + r * dim + c), scale), to + c, t.head_dim - c);
    }
}

template <typename T>
void backward_task(const AttentionTask& t, const AttentionBackward<T>& a, const Dropout& mask,
                   float* scratch) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    const BackwardScratch s(t, scratch);
    const std::int64_t blocks = key_blocks(t.keys);
    for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t first = b * kKeyBlock;
        const std::int64_t rows = std::min(kKeyBlock, t.keys - first);
        pack_columns(a.k + first * t.k_stride, t.k_stride, rows, t.head_dim, s.keys_t + first * dim, dim);
        pack_columns(a.v + first * t.v_stride, t.v_stride, rows, t.head_dim, s.values_t + first * dim, dim);
        pack_rows(a.k + first * t.k_stride, t.k_stride, rows, t.head_dim, 1.0F, s.keys + first * dim, dim,
                  kKeyBlock);
    }
    std::fill_n(s.dk, blocks * kKeyBlock * dim, 0.0F);
    std::fill_n(s.dv, blocks * kKeyBlock * dim, 0.0F);
    for (std::int64_t h = 0; h < t.group; ++h) {
        for (std::int64_t first = 0; first < t.queries; first += kQueryBlock) {
            query_block(t, a, mask, s, {h, first, std::min(kQueryBlock, t.queries - first)});
        }
    }
    if constexpr (std::is_same_v<T, float>) settle_keys(t, s, dim);
    for (std::int64_t r = 0; r < t.keys; ++r) {
        for (std::int64_t c = 0; c < t.head_dim; c += n) {
            store(load(s.dk + r * dim + c), a.dk + r * a.dk_stride + c, t.head_dim - c);
            store(load(s.dv + r * dim + c), a.dv + r * a.dv_stride + c, t.head_dim - c);
        }
    }
}

void backward_f32(const AttentionTask& t, const AttentionBackward<float>& a, const Dropout& mask,
                  float* scratch) {
    backward_task(t, a, mask, scratch);
}
void backward_bf16(const AttentionTask& t, const AttentionBackward<bf16>& a, const Dropout& mask,
                   float* scratch) {
    backward_task(t, a, mask, scratch);
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_bf16);

namespace {

template <typename T, typename Backward, typename Scratch>
void run(const Device& device, const Backward& backward, const Scratch& floats_of, const AttentionShape& s,
         ConstTensorView q, ConstTensorView k, ConstTensorView v, ConstTensorView o, ConstTensorView lse,
         ConstTensorView d_o, const Dropout& mask, TensorView dq, TensorView dk, TensorView dv) {
    const std::int64_t group = s.heads / s.kv_heads;
    parallel_for(s.batch * s.kv_heads, [&](std::int64_t task) {
        const std::int64_t b = task / s.kv_heads;
        const std::int64_t g = task % s.kv_heads;
        const AttentionTask t{s.queries,
                              s.keys,
                              s.head_dim,
                              s.window,
                              group,
                              g * group,
                              (mask.first_sample + b) * s.heads + g * group,
                              1.0F / std::sqrt(static_cast<float>(s.head_dim)),
                              q.row_stride,
                              k.row_stride,
                              v.row_stride,
                              o.row_stride};
        const auto of_head = [&](const auto& view, std::int64_t tokens, std::int64_t heads) {
            return view.template as<T>() + b * tokens * view.row_stride + g * heads * s.head_dim;
        };
        const AttentionBackward<T> a{of_head(q, s.queries, group),
                                     of_head(k, s.keys, 1),
                                     of_head(v, s.keys, 1),
                                     of_head(o, s.queries, group),
                                     lse.as<float>() + (b * s.heads + g * group) * s.queries,
                                     of_head(d_o, s.queries, group),
                                     of_head(dq, s.queries, group),
                                     of_head(dk, s.keys, 1),
                                     of_head(dv, s.keys, 1),
                                     d_o.row_stride,
                                     dq.row_stride,
                                     dk.row_stride,
                                     dv.row_stride};
        const ScratchPool::Block scratch(device.state().scratch,
                                         static_cast<std::size_t>(floats_of(t)) * sizeof(float));
        backward(t, a, mask, scratch.as<float>());
    });
}

}  // namespace

bool attention_backward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                        ConstTensorView k, ConstTensorView v, ConstTensorView o, ConstTensorView lse,
                        ConstTensorView d_o, const Dropout& mask, TensorView dq, TensorView dk,
                        TensorView dv) {
    if (q.dtype == DType::f32) {
        run<float>(device, LONGHAUL_DISPATCH(device, backward_f32), backward_scratch, shape, q, k, v, o, lse,
                   d_o, mask, dq, dk, dv);
    } else if (device.isa() >= Isa::avx512_bf16) {
        // No less than what the plan of a run's memory takes this to be.
        const auto scratch = [](const AttentionTask& t) {
            return std::max(backward_pairs_scratch(t), backward_scratch(t));
        };
        run<bf16>(device, backward_pairs, scratch, shape, q, k, v, o, lse, d_o, mask, dq, dk, dv);
    } else {
        run<bf16>(device, LONGHAUL_DISPATCH(device, backward_bf16), backward_scratch, shape, q, k, v, o, lse,
                  d_o, mask, dq, dk, dv);
    }
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
