// What both passes of attention are made of: packed blocks, a register-blocked product of small matrices with
// fp32 sums, the mask, and softmax.
#if defined(LONGHAUL_KERNELS_CPU_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGHAUL_KERNELS_CPU_ATTENTION_INL_H
#undef LONGHAUL_KERNELS_CPU_ATTENTION_INL_H
#else
#define LONGHAUL_KERNELS_CPU_ATTENTION_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention_task.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/vector-inl.h"

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

// What a product multiplies: single fp32 elements, ...
struct Singles {
    using Element = float;
    HWY_INLINE static Vec every(float x) { return hn::Set(Tag(), x); }
    HWY_INLINE static Vec some(const float* p) { return load(p); }
    HWY_INLINE static Vec multiply_add(Vec a, Vec b, Vec sum) { return hn::MulAdd(a, b, sum); }
};
#if HWY_TARGET == HWY_AVX3
// ... or pairs of bf16 in a 32-bit word, the earlier one low: a word's two products are added to one sum.
struct Pairs {
    using Element = std::uint32_t;
    using Words = hn::Vec<Tag32>;
    HWY_INLINE static Words every(std::uint32_t x) { return hn::Set(Tag32(), x); }
    HWY_INLINE static Words some(const std::uint32_t* p) { return hn::LoadU(Tag32(), p); }
    // In assembly, as this Highway has no target with the instruction; the caller knows that the processor
    // does.
    HWY_INLINE static Vec multiply_add(Words a, Words b, Vec sum) {
        __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(b.raw), "v"(a.raw));
        return sum;
    }
};
#endif

// c[kRows][kWide vectors] (+)= sum over k of a(row, k) * b[k]; a(row, k) = a[row * row_step + k * k_step].
template <typename M, int kRows, int kWide>
HWY_INLINE void product_tile(const typename M::Element* a, std::int64_t row_step, std::int64_t k_step,
                             const typename M::Element* b, std::int64_t b_stride, float* c,
                             std::int64_t c_stride, std::int64_t depth, bool accumulate) {
    const std::int64_t n = lanes();
    Vec sums[kRows][kWide];
    for (int r = 0; r < kRows; ++r) {
        for (int w = 0; w < kWide; ++w)
            sums[r][w] = accumulate ? load(c + r * c_stride + w * n) : hn::Zero(Tag());
    }
    for (std::int64_t k = 0; k < depth; ++k) {
        decltype(M::some(b)) row[kWide];
        for (int w = 0; w < kWide; ++w) row[w] = M::some(b + k * b_stride + w * n);
        for (int r = 0; r < kRows; ++r) {
            const auto factor = M::every(a[r * row_step + k * k_step]);
            for (int w = 0; w < kWide; ++w) sums[r][w] = M::multiply_add(factor, row[w], sums[r][w]);
        }
    }
    for (int r = 0; r < kRows; ++r) {
        for (int w = 0; w < kWide; ++w) store(sums[r][w], c + r * c_stride + w * n);
    }
}

// Vectors of a tile: as many as leave registers for six rows of sums.
constexpr int kWideTile = HWY_MAX_BYTES >= 64 ? 4 : 2;
constexpr int kTileRows = 6;

template <typename M, int kWide>
HWY_INLINE void product_columns(const typename M::Element* a, std::int64_t row_step, std::int64_t k_step,
                                const typename M::Element* b, std::int64_t b_stride, float* c,
                                std::int64_t c_stride, std::int64_t rows, std::int64_t depth,
                                bool accumulate) {
    std::int64_t r = 0;
    for (; r + kTileRows <= rows; r += kTileRows) {
        product_tile<M, kTileRows, kWide>(a + r * row_step, row_step, k_step, b, b_stride, c + r * c_stride,
                                          c_stride, depth, accumulate);
    }
    for (; r + 2 <= rows; r += 2)
        product_tile<M, 2, kWide>(a + r * row_step, row_step, k_step, b, b_stride, c + r * c_stride, c_stride,
                                  depth, accumulate);
    for (; r < rows; ++r)
        product_tile<M, 1, kWide>(a + r * row_step, row_step, k_step, b, b_stride, c + r * c_stride, c_stride,
                                  depth, accumulate);
}

// c[rows][columns] (+)= a b, columns a multiple of 16. `depth` counts elements of M.
template <typename M = Singles>
HWY_INLINE void product(const typename M::Element* a, std::int64_t row_step, std::int64_t k_step,
                        const typename M::Element* b, std::int64_t b_stride, float* c, std::int64_t c_stride,
                        std::int64_t rows, std::int64_t columns, std::int64_t depth, bool accumulate) {
    const std::int64_t n = lanes();
    std::int64_t j = 0;
    for (; j + kWideTile * n <= columns; j += kWideTile * n) {
        product_columns<M, kWideTile>(a, row_step, k_step, b + j, b_stride, c + j, c_stride, rows, depth,
                                      accumulate);
    }
    for (; j < columns; j += n)
        product_columns<M, 1>(a, row_step, k_step, b + j, b_stride, c + j, c_stride, rows, depth, accumulate);
}

// to[r][padded] = scale * from[r][columns], zeros behind; rows up to `rows_padded` are zeros.
template <typename T>
void pack_rows(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float scale,
               float* to, std::int64_t padded, std::int64_t rows_padded) {
    const std::int64_t n = lanes();
    for (std::int64_t r = 0; r < rows_padded; ++r, from += stride, to += padded) {
        for (std::int64_t c = 0; c < padded; c += n) {
            const Vec v = r < rows && c < columns ? load(from + c, columns - c) : hn::Zero(Tag());
            store(hn::Mul(v, hn::Set(Tag(), scale)), to + c);
        }
    }
}

// to[c][kKeyBlock] = from[r][c]: keys as columns; columns of missing rows are zeros.
template <typename T>
void pack_columns(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* to,
                  std::int64_t padded) {
    std::fill_n(to, padded * kKeyBlock, 0.0F);
    for (std::int64_t r = 0; r < rows; ++r, from += stride) {
        for (std::int64_t c = 0; c < columns; ++c) to[c * kKeyBlock + r] = static_cast<float>(from[c]);
    }
}

// First and one past the last key block that queries [first, first + count) of a sequence see.
struct KeyRange {
    std::int64_t first_block, end_block;
};
HWY_INLINE KeyRange visible_blocks(const AttentionTask& t, std::int64_t first, std::int64_t count) {
    const std::int64_t offset = t.keys - t.queries;
    const std::int64_t last = offset + first + count - 1;
    const std::int64_t earliest =
        t.window == 0 ? 0 : std::max<std::int64_t>(0, offset + first - t.window + 1);
    return {earliest / kKeyBlock, last / kKeyBlock + 1};
}

// Sets scores of hidden keys to minus infinity. Row r is query first + r, column j is key block * kKeyBlock +
// j.
HWY_INLINE void hide(const AttentionTask& t, std::int64_t first, std::int64_t rows, std::int64_t block,
                     float* scores) {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    const std::int64_t key = block * kKeyBlock;
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t position = t.keys - t.queries + first + r;
        const std::int64_t end = std::clamp<std::int64_t>(position + 1 - key, 0, kKeyBlock);
        const std::int64_t begin =
            t.window == 0 ? 0 : std::clamp<std::int64_t>(position - t.window + 1 - key, 0, kKeyBlock);
        float* row = scores + r * kKeyBlock;
        std::fill(row, row + begin, kHidden);
        std::fill(row + end, row + kKeyBlock, kHidden);
    }
}

// Multiplies by the dropout mask of one head's probabilities; keys behind the end are left.
HWY_INLINE void mask_block(const AttentionTask& t, const Dropout& mask, std::int64_t head_number,
                           std::int64_t first, std::int64_t rows, std::int64_t block, float* values) {
    DropoutMask kept(mask);
    const std::int64_t keys = std::min(kKeyBlock, t.keys - block * kKeyBlock);
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto start =
            static_cast<std::uint64_t>((head_number * t.queries + first + r) * t.keys + block * kKeyBlock);
        for (std::int64_t j = 0; j < keys; ++j) {
            float& value = values[r * kKeyBlock + j];
            value = kept.keeps(start + static_cast<std::uint64_t>(j)) ? value * kept.scale() : 0.0F;
        }
    }
}

// Turns scores times `scale` into probabilities against the largest of each row so far, and rescales what was
// summed before where that rises.
HWY_INLINE void softmax_rows(float* scores, std::int64_t rows, float scale, float* most, float* sums,
                             float* out, std::int64_t dim) {
    const std::int64_t n = lanes();
    const Vec scales = hn::Set(Tag(), scale);
    for (std::int64_t r = 0; r < rows; ++r) {
        float* row = scores + r * kKeyBlock;
        Vec top = load(row);
        for (std::int64_t j = n; j < kKeyBlock; j += n) top = hn::Max(top, load(row + j));
        const float block_top = hn::GetLane(hn::MaxOfLanes(Tag(), top)) * scale;
        const float new_top = std::max(most[r], block_top);
        if (new_top == -std::numeric_limits<float>::infinity()) {
            // A window hides all of the block from this row, and nothing was seen before it.
            std::fill_n(row, kKeyBlock, 0.0F);
            continue;
        }
        const Vec tops = hn::Set(Tag(), new_top);
        Vec block_sum = hn::Zero(Tag());
        for (std::int64_t j = 0; j < kKeyBlock; j += n) {
            const Vec score = load(row + j);
            // Highway's Exp of minus infinity is 0.
            const Vec p = hn::Exp(Tag(), hn::Max(hn::MulSub(score, scales, tops), hn::Set(Tag(), -200.0F)));
            const Vec seen =
                hn::IfThenElseZero(hn::Gt(score, hn::Set(Tag(), std::numeric_limits<float>::lowest())), p);
            block_sum = hn::Add(block_sum, seen);
            store(seen, row + j);
        }
        if (most[r] != new_top) {
            const float rescale = std::exp(most[r] - new_top);
            sums[r] *= rescale;
            const Vec factor = hn::Set(Tag(), rescale);
            for (std::int64_t c = 0; c < dim; c += n)
                store(hn::Mul(load(out + r * dim + c), factor), out + r * dim + c);
            most[r] = new_top;
        }
        sums[r] += sum_of(block_sum);
    }
}

// delta[r] = sum over keys of p dp = the output times its gradient (Dao 2023), of `rows` queries of a head.
template <typename T>
void output_products(const AttentionTask& t, const AttentionBackward<T>& a, std::int64_t head,
                     std::int64_t first, std::int64_t rows, float* delta) {
    const std::int64_t n = lanes();
    for (std::int64_t r = 0; r < rows; ++r) {
        const T* out = a.o + (first + r) * t.o_stride + head * t.head_dim;
        const T* d_out = a.d_o + (first + r) * a.d_o_stride + head * t.head_dim;
        Vec dot = hn::Zero(Tag());
        for (std::int64_t c = 0; c < t.head_dim; c += n)
            dot = hn::MulAdd(load(out + c, t.head_dim - c), load(d_out + c, t.head_dim - c), dot);
        delta[r] = sum_of(dot);
    }
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
