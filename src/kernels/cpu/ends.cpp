// Embedding and cross-entropy.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/ends.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector-inl.h"

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

// One row of logits: its loss, and its gradient where dlogits is given (which may be the logits).
template <typename T>
float loss_row(const float* logits, std::int64_t columns, std::int64_t target, float scale, T* dlogits) {
    const std::int64_t n = lanes();
    Vec most = hn::Set(Tag(), logits[0]);
    std::int64_t c = 0;
    for (; c + n <= columns; c += n) most = hn::Max(most, load(logits + c));
    float top = hn::GetLane(hn::MaxOfLanes(Tag(), most));
    for (; c < columns; ++c) top = std::max(top, logits[c]);
    const Vec tops = hn::Set(Tag(), top);
    Vec sums = hn::Zero(Tag());
    for (c = 0; c < columns; c += n) {
        sums = hn::Add(sums,
                       keep_first(hn::Exp(Tag(), hn::Sub(load(logits + c, columns - c), tops)), columns - c));
    }
    const float sum = sum_of(sums);
    const float at_target = logits[target];
    if (dlogits != nullptr) {
        const Vec factor = hn::Set(Tag(), scale / sum);
        // The target's own element from its logit, since dlogits may overwrite it.
        const float own = (std::exp(at_target - top) / sum - 1.0F) * scale;
        for (c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            store(hn::Mul(hn::Exp(Tag(), hn::Sub(load(logits + c, left), tops)), factor), dlogits + c, left);
        }
        dlogits[target] = T(own);
    }
    // log(sum) + (top - target): the difference of large logits is taken first.
    return std::log(sum) + (top - at_target);
}

float loss_f32(const float* logits, std::int64_t columns, std::int64_t target, float scale, float* dlogits) {
    return loss_row(logits, columns, target, scale, dlogits);
}
float loss_bf16(const float* logits, std::int64_t columns, std::int64_t target, float scale, bf16* dlogits) {
    return loss_row(logits, columns, target, scale, dlogits);
}

template <typename T>
void add_rows(const T* a, const T* b, T* out, std::int64_t count) {
    const std::int64_t n = lanes();
    for (std::int64_t i = 0; i < count; i += n)
        store(hn::Add(load(a + i, count - i), load(b + i, count - i)), out + i, count - i);
}
void embed_f32(const float* a, const float* b, float* out, std::int64_t count) {
    add_rows(a, b, out, count);
}
void embed_bf16(const bf16* a, const bf16* b, bf16* out, std::int64_t count) {
    add_rows(a, b, out, count);
}

template <typename T>
void accumulate_row(const T* from, float* to, std::int64_t count) {
    const std::int64_t n = lanes();
    for (std::int64_t i = 0; i < count; i += n)
        store(hn::Add(load(to + i, count - i), load(from + i, count - i)), to + i, count - i);
}
void accumulate_f32(const float* from, float* to, std::int64_t count) {
    accumulate_row(from, to, count);
}
void accumulate_bf16(const bf16* from, float* to, std::int64_t count) {
    accumulate_row(from, to, count);
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(loss_f32);
HWY_EXPORT(loss_bf16);
HWY_EXPORT(embed_f32);
HWY_EXPORT(embed_bf16);
HWY_EXPORT(accumulate_f32);
HWY_EXPORT(accumulate_bf16);

namespace {

template <typename T, typename Loss>
void losses_of(const Loss& loss, ConstTensorView logits, ConstTensorView targets, float scale,
               TensorView losses, TensorView dlogits) {
    parallel_for(logits.rows(), [&](std::int64_t t) {
        const std::int64_t target = targets.as<std::int32_t>()[t];
        T* gradient = dlogits ? dlogits.as<T>() + t * dlogits.row_stride : nullptr;
        if (target >= 0) {
            losses.as<float>()[t] =
                loss(logits.as<float>() + t * logits.row_stride, logits.columns(), target, scale, gradient);
            return;
        }
        losses.as<float>()[t] = 0;
        if (gradient != nullptr) std::fill_n(gradient, logits.columns(), T{});
    });
}

template <typename T, typename Add>
void embed(const Add& add_row, ConstTensorView ids, ConstTensorView table, ConstTensorView positions,
           std::int64_t sequence, std::int64_t first_position, TensorView y) {
    each_rows(y.rows(), y.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        for (std::int64_t t = first; t < first + count; ++t) {
            const std::int64_t id = std::max(ids.as<std::int32_t>()[t], 0);
            const T* word = table.as<T>() + id * table.row_stride;
            T* out = y.as<T>() + t * y.row_stride;
            if (positions) {
                add_row(word, positions.as<T>() + (first_position + t % sequence) * positions.row_stride, out,
                        y.columns());
            } else {
                std::copy_n(word, y.columns(), out);
            }
        }
    });
}

// Columns of a task of the embedding's backward: tokens are summed in their order within each.
constexpr std::int64_t kColumns = 128;

template <typename T, typename Accumulate>
void embed_backward(const Accumulate& accumulate, ConstTensorView ids, ConstTensorView dy,
                    std::int64_t sequence, TensorView dtable, TensorView dpositions) {
    parallel_for(div_ceil(dy.columns(), kColumns), [&](std::int64_t task) {
        const std::int64_t first = task * kColumns;
        const std::int64_t count = std::min(kColumns, dy.columns() - first);
        for (std::int64_t t = 0; t < dy.rows(); ++t) {
            const T* from = dy.as<T>() + t * dy.row_stride + first;
            const std::int64_t id = ids.as<std::int32_t>()[t];
            if (id < 0) continue;
            accumulate(from, dtable.as<float>() + id * dtable.row_stride + first, count);
            if (dpositions)
                accumulate(from, dpositions.as<float>() + t % sequence * dpositions.row_stride + first,
                           count);
        }
    });
}

}  // namespace

bool cross_entropy(const Device& device, ConstTensorView logits, ConstTensorView targets, float scale,
                   TensorView losses, TensorView dlogits) {
    if (!dlogits || dlogits.dtype == DType::f32) {
        losses_of<float>(LONGHAUL_DISPATCH(device, loss_f32), logits, targets, scale, losses, dlogits);
    } else {
        losses_of<bf16>(LONGHAUL_DISPATCH(device, loss_bf16), logits, targets, scale, losses, dlogits);
    }
    return true;
}

bool embedding_forward(const Device& device, ConstTensorView ids, ConstTensorView table,
                       ConstTensorView positions, std::int64_t sequence, std::int64_t first_position,
                       TensorView y) {
    if (y.dtype == DType::f32) {
        embed<float>(LONGHAUL_DISPATCH(device, embed_f32), ids, table, positions, sequence, first_position,
                     y);
    } else {
        embed<bf16>(LONGHAUL_DISPATCH(device, embed_bf16), ids, table, positions, sequence, first_position,
                    y);
    }
    return true;
}

bool embedding_backward(const Device& device, ConstTensorView ids, ConstTensorView dy, std::int64_t sequence,
                        TensorView dtable, TensorView dpositions) {
    if (dy.dtype == DType::f32) {
        embed_backward<float>(LONGHAUL_DISPATCH(device, accumulate_f32), ids, dy, sequence, dtable,
                              dpositions);
    } else {
        embed_backward<bf16>(LONGHAUL_DISPATCH(device, accumulate_bf16), ids, dy, sequence, dtable,
                             dpositions);
    }
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
