// Attention forward: keys and values of a kv head packed once, then blocks of queries against the key blocks
// that they see, with an online softmax (Dao 2023).
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_forward.cpp"
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

template <typename T>
void forward_task(const AttentionTask& t, const AttentionForward<T>& a, const Dropout& mask, float* scratch) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    const std::int64_t blocks = key_blocks(t.keys);
    float* keys = scratch;                            // [block][dim][kKeyBlock]
    float* values = keys + blocks * kKeyBlock * dim;  // [block][kKeyBlock][dim]
    float* query = values + blocks * kKeyBlock * dim;
    float* out = query + kQueryBlock * dim;
    float* scores = out + kQueryBlock * dim;
    float* most = scores + kQueryBlock * kKeyBlock;
    float* sums = most + kQueryBlock;
    for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t first = b * kKeyBlock;
        const std::int64_t rows = std::min(kKeyBlock, t.keys - first);
        pack_columns(a.k + first * t.k_stride, t.k_stride, rows, t.head_dim, keys + first * dim, dim);
        pack_rows(a.v + first * t.v_stride, t.v_stride, rows, t.head_dim, 1.0F, values + first * dim, dim,
                  kKeyBlock);
    }
    for (std::int64_t h = 0; h < t.group; ++h) {
        for (std::int64_t first = 0; first < t.queries; first += kQueryBlock) {
            const std::int64_t rows = std::min(kQueryBlock, t.queries - first);
            pack_rows(a.q + first * t.q_stride + h * t.head_dim, t.q_stride, rows, t.head_dim, t.scale, query,
                      dim, rows);
            std::fill_n(out, rows * dim, 0.0F);
            std::fill_n(most, rows, -std::numeric_limits<float>::infinity());
            std::fill_n(sums, rows, 0.0F);
            const KeyRange range = visible_blocks(t, first, rows);
            for (std::int64_t b = range.first_block; b < range.end_block; ++b) {
                product(query, dim, 1, keys + b * kKeyBlock * dim, kKeyBlock, scores, kKeyBlock, rows,
                        kKeyBlock, t.head_dim, false);
                hide(t, first, rows, b, scores);
                softmax_rows(scores, rows, 1.0F, most, sums, out, dim);
                if (mask.on()) mask_block(t, mask, t.head_number + h, first, rows, b, scores);
                product(scores, kKeyBlock, 1, values + b * kKeyBlock * dim, dim, out, dim, rows, dim,
                        kKeyBlock, true);
            }
            for (std::int64_t r = 0; r < rows; ++r) {
                const Vec inverse = hn::Set(Tag(), 1.0F / sums[r]);
                T* to = a.o + (first + r) * t.o_stride + h * t.head_dim;
                for (std::int64_t c = 0; c < t.head_dim; c += n)
                    store(hn::Mul(load(out + r * dim + c), inverse), to + c, t.head_dim - c);
                a.lse[h * t.queries + first + r] = most[r] + std::log(sums[r]);
            }
        }
    }
}

// A few queries (decoding): packing every key would cost more than reading it once.
template <typename T>
void few_queries_task(const AttentionTask& t, const AttentionForward<T>& a, float* scores) {
    const std::int64_t n = lanes();
    for (std::int64_t h = 0; h < t.group; ++h) {
        for (std::int64_t i = 0; i < t.queries; ++i) {
            const T* query = a.q + i * t.q_stride + h * t.head_dim;
            const std::int64_t position = t.keys - t.queries + i;
            const std::int64_t begin = t.window == 0 ? 0 : std::max<std::int64_t>(0, position - t.window + 1);
            float top = -std::numeric_limits<float>::infinity();
            for (std::int64_t j = begin; j <= position; ++j) {
                Vec dot = hn::Zero(Tag());
                const T* key = a.k + j * t.k_stride;
                for (std::int64_t c = 0; c < t.head_dim; c += n)
                    dot = hn::MulAdd(load(query + c, t.head_dim - c), load(key + c, t.head_dim - c), dot);
                scores[j] = sum_of(dot) * t.scale;
                top = std::max(top, scores[j]);
            }
            float sum = 0;
            for (std::int64_t j = begin; j <= position; ++j) sum += scores[j] = std::exp(scores[j] - top);
            T* to = a.o + i * t.o_stride + h * t.head_dim;
            for (std::int64_t c = 0; c < t.head_dim; c += n) {
                Vec mix = hn::Zero(Tag());
                for (std::int64_t j = begin; j <= position; ++j)
                    mix = hn::MulAdd(hn::Set(Tag(), scores[j]),
                                     load(a.v + j * t.v_stride + c, t.head_dim - c), mix);
                store(hn::Mul(mix, hn::Set(Tag(), 1.0F / sum)), to + c, t.head_dim - c);
            }
            a.lse[h * t.queries + i] = top + std::log(sum);
        }
    }
}

void forward_f32(const AttentionTask& t, const AttentionForward<float>& a, const Dropout& mask,
                 float* scratch) {
    forward_task(t, a, mask, scratch);
}
void forward_bf16(const AttentionTask& t, const AttentionForward<bf16>& a, const Dropout& mask,
                  float* scratch) {
    forward_task(t, a, mask, scratch);
}
void few_f32(const AttentionTask& t, const AttentionForward<float>& a, float* scratch) {
    few_queries_task(t, a, scratch);
}
void few_bf16(const AttentionTask& t, const AttentionForward<bf16>& a, float* scratch) {
    few_queries_task(t, a, scratch);
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_bf16);
HWY_EXPORT(few_f32);
HWY_EXPORT(few_bf16);

namespace {

constexpr std::int64_t kFewQueries = 4;

template <typename T, typename Forward, typename Scratch, typename Few>
void run(const Device& device, const Forward& forward, const Scratch& floats_of, const Few& few,
         const AttentionShape& s, ConstTensorView q, ConstTensorView k, ConstTensorView v,
         const Dropout& mask, TensorView o, TensorView lse) {
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
        const AttentionForward<T> a{q.as<T>() + b * s.queries * q.row_stride + g * group * s.head_dim,
                                    k.as<T>() + b * s.keys * k.row_stride + g * s.head_dim,
                                    v.as<T>() + b * s.keys * v.row_stride + g * s.head_dim,
                                    o.as<T>() + b * s.queries * o.row_stride + g * group * s.head_dim,
                                    lse.as<float>() + (b * s.heads + g * group) * s.queries};
        const bool is_few = s.queries <= kFewQueries && !mask.on();
        const std::int64_t floats = is_few ? s.keys : floats_of(t);
        const ScratchPool::Block scratch(device.state().scratch,
                                         static_cast<std::size_t>(floats) * sizeof(float));
        if (is_few) {
            few(t, a, scratch.as<float>());
        } else {
            forward(t, a, mask, scratch.as<float>());
        }
    });
}

}  // namespace

bool attention_forward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                       ConstTensorView k, ConstTensorView v, const Dropout& mask, TensorView o,
                       TensorView lse) {
    if (q.dtype == DType::f32) {
        run<float>(device, LONGHAUL_DISPATCH(device, forward_f32), forward_scratch,
                   LONGHAUL_DISPATCH(device, few_f32), shape, q, k, v, mask, o, lse);
    } else if (device.isa() >= Isa::avx512_bf16) {
        run<bf16>(device, forward_pairs, forward_pairs_scratch, LONGHAUL_DISPATCH(device, few_bf16), shape, q,
                  k, v, mask, o, lse);
    } else {
        run<bf16>(device, LONGHAUL_DISPATCH(device, forward_bf16), forward_scratch,
                  LONGHAUL_DISPATCH(device, few_bf16), shape, q, k, v, mask, o, lse);
    }
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
