// Packing into pairs, and both passes over them.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "kernels/cpu/attention-inl.h"
#include "kernels/cpu/attention_pairs.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

using Word = Pairs::Element;
constexpr std::int64_t kKeyWords = kKeyBlock / 2;
constexpr std::int64_t kQueryWords = kQueryBlock / 2;

// Cuts a task's scratch into arrays; from nullptr it only counts.
class Cut {
public:
    explicit Cut(float* start) : start_(start) {}
    float* floats(std::int64_t count) {
        float* at = start_ == nullptr ? nullptr : start_ + used_;
        used_ += count;
        return at;
    }
    Word* words(std::int64_t count) { return reinterpret_cast<Word*>(floats(count)); }
    [[nodiscard]] std::int64_t used() const { return used_; }

private:
    float* start_;
    std::int64_t used_ = 0;
};

struct ForwardPairs {
    Word* keys;          // [block][dim / 2][kKeyBlock], pairs of columns
    Word* values;        // [block][kKeyWords][dim], pairs of keys
    Word* query;         // [kQueryBlock][dim / 2], pairs of columns
    Word* rounded;       // [kQueryBlock][kKeyWords]: probabilities, pairs of keys
    float* scores;       // [kQueryBlock][kKeyBlock]
    float* out;          // [kQueryBlock][dim]
    float *most, *sums;  // [kQueryBlock]
    std::int64_t used;

    ForwardPairs(const AttentionTask& t, float* scratch) {
        const std::int64_t dim = padded_dim(t.head_dim);
        const std::int64_t half = key_blocks(t.keys) * kKeyBlock * dim / 2;
        Cut cut(scratch);
        keys = cut.words(half);
        values = cut.words(half);
        query = cut.words(kQueryBlock * dim / 2);
        rounded = cut.words(kQueryBlock * kKeyWords);
        scores = cut.floats(kQueryBlock * kKeyBlock);
        out = cut.floats(kQueryBlock * dim);
        most = cut.floats(kQueryBlock);
        sums = cut.floats(kQueryBlock);
        used = cut.used();
    }
};

struct BackwardPairs {
    Word *keys_t, *values_t;          // [block][dim / 2][kKeyBlock], pairs of columns
    Word* keys;                       // [block][kKeyWords][dim], pairs of keys
    float *dk, *dv;                   // [keys][dim], sums
    Word *query, *d_out;              // [kQueryBlock][dim / 2], pairs of columns
    Word *query_pairs, *d_out_pairs;  // [kQueryWords][dim], pairs of queries
    float* dq;                        // [kQueryBlock][dim]
    float *p, *dp;                    // [kQueryBlock][kKeyBlock]
    Word *p_pairs, *ds_pairs;         // [kQueryWords][kKeyBlock], pairs of queries
    Word* ds;                         // [kQueryBlock][kKeyWords], pairs of keys
    std::int64_t used;

    BackwardPairs(const AttentionTask& t, float* scratch) {
        const std::int64_t dim = padded_dim(t.head_dim);
        const std::int64_t all = key_blocks(t.keys) * kKeyBlock * dim;
        Cut cut(scratch);
        keys_t = cut.words(all / 2);
        values_t = cut.words(all / 2);
        keys = cut.words(all / 2);
        dk = cut.floats(all);
        dv = cut.floats(all);
        query = cut.words(kQueryBlock * dim / 2);
        d_out = cut.words(kQueryBlock * dim / 2);
        query_pairs = cut.words(kQueryWords * dim);
        d_out_pairs = cut.words(kQueryWords * dim);
        dq = cut.floats(kQueryBlock * dim);
        p = cut.floats(kQueryBlock * kKeyBlock);
        dp = cut.floats(kQueryBlock * kKeyBlock);
        p_pairs = cut.words(kQueryWords * kKeyBlock);
        ds_pairs = cut.words(kQueryWords * kKeyBlock);
        ds = cut.words(kQueryBlock * kKeyWords);
        used = cut.used();
    }
};

// to[r][words]: rows as they are, zeros behind their columns.
void copy_rows(const bf16* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, Word* to,
               std::int64_t words) {
    const auto bytes = static_cast<std::size_t>(columns) * sizeof(bf16);
    for (std::int64_t r = 0; r < rows; ++r, from += stride, to += words) {
        std::memcpy(to, from, bytes);
        std::memset(reinterpret_cast<std::byte*>(to) + bytes, 0,
                    static_cast<std::size_t>(words) * sizeof(Word) - bytes);
    }
}

HWY_INLINE Pairs::Words widen(const bf16* p, std::int64_t count) {
    const Tag16 d;
    const auto* at = reinterpret_cast<const std::uint16_t*>(p);
    if (count >= lanes()) return hn::PromoteTo(Tag32(), hn::LoadU(d, at));
    std::uint16_t piece[kMaxLanes] = {};
    std::memcpy(piece, at, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
    return hn::PromoteTo(Tag32(), hn::LoadU(d, piece));
}

// to[r / 2][padded]: rows r and r + 1 of each column; rows up to `rows_padded` and columns behind the end are
// zeros.
void pair_rows(const bf16* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, Word* to,
               std::int64_t padded, std::int64_t rows_padded) {
    const std::int64_t n = lanes();
    for (std::int64_t r = 0; r < rows_padded; r += 2, from += 2 * stride, to += padded) {
        for (std::int64_t c = 0; c < padded; c += n) {
            auto word = hn::Zero(Tag32());
            if (r < rows && c < columns) word = widen(from + c, columns - c);
            if (r + 1 < rows && c < columns)
                word = hn::Or(word, hn::ShiftLeft<16>(widen(from + stride + c, columns - c)));
            hn::StoreU(word, Tag32(), to + c);
        }
    }
}

// to[c / 2][kKeyBlock]: columns c and c + 1 of each row; zeros for what is missing.
void pair_columns(const bf16* from, std::int64_t stride, std::int64_t rows, std::int64_t columns, Word* to,
                  std::int64_t words) {
    if (rows < kKeyBlock || columns < 2 * words) std::fill_n(to, words * kKeyBlock, 0U);
    const std::int64_t whole = columns / 2;
    for (std::int64_t r = 0; r < rows; ++r, from += stride) {
        for (std::int64_t w = 0; w < whole; ++w)
            std::memcpy(to + w * kKeyBlock + r, from + 2 * w, sizeof(Word));
        if (columns % 2 != 0) std::memcpy(to + whole * kKeyBlock + r, from + columns - 1, sizeof(bf16));
    }
}

// Rounded to nearest even, in the low half of each word.
HWY_INLINE Pairs::Words rounded(Vec v) {
    hn::Vec<Tag16> half;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(half.raw) : "v"(v.raw));
    return hn::PromoteTo(Tag32(), half);
}
HWY_INLINE void store_rounded(Vec v, Word* to) {
    hn::Vec<Tag16> half;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(half.raw) : "v"(v.raw));
    hn::StoreU(half, Tag16(), reinterpret_cast<std::uint16_t*>(to));
}

void forward_avx3(const AttentionTask& t, const AttentionForward<bf16>& a, const Dropout& mask,
                  float* scratch) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    const std::int64_t words = dim / 2;
    const ForwardPairs s(t, scratch);
    for (std::int64_t b = 0; b < key_blocks(t.keys); ++b) {
        const std::int64_t first = b * kKeyBlock;
        const std::int64_t rows = std::min(kKeyBlock, t.keys - first);
        pair_columns(a.k + first * t.k_stride, t.k_stride, rows, t.head_dim, s.keys + first * words, words);
        pair_rows(a.v + first * t.v_stride, t.v_stride, rows, t.head_dim, s.values + first * words, dim,
                  kKeyBlock);
    }
    for (std::int64_t h = 0; h < t.group; ++h) {
        for (std::int64_t first = 0; first < t.queries; first += kQueryBlock) {
            const std::int64_t rows = std::min(kQueryBlock, t.queries - first);
            copy_rows(a.q + first * t.q_stride + h * t.head_dim, t.q_stride, rows, t.head_dim, s.query,
                      words);
            std::fill_n(s.out, rows * dim, 0.0F);
            std::fill_n(s.most, rows, -std::numeric_limits<float>::infinity());
            std::fill_n(s.sums, rows, 0.0F);
            const KeyRange range = visible_blocks(t, first, rows);
            for (std::int64_t b = range.first_block; b < range.end_block; ++b) {
                product<Pairs>(s.query, words, 1, s.keys + b * kKeyBlock * words, kKeyBlock, s.scores,
                               kKeyBlock, rows, kKeyBlock, words, false);
                hide(t, first, rows, b, s.scores);
                softmax_rows(s.scores, rows, t.scale, s.most, s.sums, s.out, dim);
                if (mask.on()) mask_block(t, mask, t.head_number + h, first, rows, b, s.scores);
                for (std::int64_t i = 0; i < rows * kKeyBlock; i += n)
                    store_rounded(load(s.scores + i), s.rounded + i / 2);
                product<Pairs>(s.rounded, kKeyWords, 1, s.values + b * kKeyBlock * words, dim, s.out, dim,
                               rows, dim, kKeyWords, true);
            }
            for (std::int64_t r = 0; r < rows; ++r) {
                const Vec inverse = hn::Set(Tag(), 1.0F / s.sums[r]);
                bf16* to = a.o + (first + r) * t.o_stride + h * t.head_dim;
                for (std::int64_t c = 0; c < t.head_dim; c += n)
                    store(hn::Mul(load(s.out + r * dim + c), inverse), to + c, t.head_dim - c);
                a.lse[h * t.queries + first + r] = s.most[r] + std::log(s.sums[r]);
            }
        }
    }
}

// p = probabilities behind dropout and dp = gradients of the scores, of `rows` queries from `first` on
// against key block b; `delta` as in the fp32 form. One more row is zeros where rows is odd.
HWY_INLINE void gradients_of_scores(const AttentionTask& t, const AttentionBackward<bf16>& a,
                                    const Dropout& mask, const BackwardPairs& s, std::int64_t head,
                                    std::int64_t first, std::int64_t rows, std::int64_t b,
                                    const float* delta) {
    const std::int64_t n = lanes();
    const std::int64_t words = padded_dim(t.head_dim) / 2;
    product<Pairs>(s.query, words, 1, s.keys_t + b * kKeyBlock * words, kKeyBlock, s.p, kKeyBlock, rows,
                   kKeyBlock, words, false);
    hide(t, first, rows, b, s.p);
    product<Pairs>(s.d_out, words, 1, s.values_t + b * kKeyBlock * words, kKeyBlock, s.dp, kKeyBlock, rows,
                   kKeyBlock, words, false);
    if (mask.on()) mask_block(t, mask, t.head_number + head, first, rows, b, s.dp);
    const Vec scale = hn::Set(Tag(), t.scale);
    for (std::int64_t r = 0; r < rows; ++r) {
        const Vec lse = hn::Set(Tag(), a.lse[head * t.queries + first + r]);
        const Vec shift = hn::Set(Tag(), delta[r]);
        for (std::int64_t j = 0; j < kKeyBlock; j += n) {
            float* p_at = s.p + r * kKeyBlock + j;
            float* dp_at = s.dp + r * kKeyBlock + j;
            const Vec score = load(p_at);
            const Vec power = hn::Max(hn::MulSub(score, scale, lse), hn::Set(Tag(), -200.0F));
            const Vec p = hn::IfThenElseZero(
                hn::Gt(score, hn::Set(Tag(), std::numeric_limits<float>::lowest())), hn::Exp(Tag(), power));
            store(p, p_at);
            store(hn::Mul(p, hn::Sub(load(dp_at), shift)), dp_at);
        }
    }
    if (mask.on()) mask_block(t, mask, t.head_number + head, first, rows, b, s.p);
    if (rows % 2 != 0) {
        std::fill_n(s.p + rows * kKeyBlock, kKeyBlock, 0.0F);
        std::fill_n(s.dp + rows * kKeyBlock, kKeyBlock, 0.0F);
    }
}

// The forms that the products take: pairs of queries for the keys' side, pairs of keys for the queries'.
HWY_INLINE void round_gradients(const BackwardPairs& s, std::int64_t rows) {
    const std::int64_t n = lanes();
    for (std::int64_t r = 0; r < rows; r += 2) {
        for (std::int64_t j = 0; j < kKeyBlock; j += n) {
            const std::int64_t at = r * kKeyBlock + j;
            const auto pair = [](Vec low, Vec high)
                                  HWY_ATTR { return hn::Or(rounded(low), hn::ShiftLeft<16>(rounded(high))); };
            hn::StoreU(pair(load(s.p + at), load(s.p + at + kKeyBlock)), Tag32(),
                       s.p_pairs + r / 2 * kKeyBlock + j);
            const Vec low = load(s.dp + at);
            const Vec high = load(s.dp + at + kKeyBlock);
            hn::StoreU(pair(low, high), Tag32(), s.ds_pairs + r / 2 * kKeyBlock + j);
            store_rounded(low, s.ds + at / 2);
            store_rounded(high, s.ds + (at + kKeyBlock) / 2);
        }
    }
}

HWY_INLINE void backward_queries(const AttentionTask& t, const AttentionBackward<bf16>& a,
                                 const Dropout& mask, const BackwardPairs& s, std::int64_t head,
                                 std::int64_t first) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    const std::int64_t words = dim / 2;
    const std::int64_t column = head * t.head_dim;
    const std::int64_t rows = std::min(kQueryBlock, t.queries - first);
    const std::int64_t depth = (rows + 1) / 2;
    const bf16* query = a.q + first * t.q_stride + column;
    const bf16* d_out = a.d_o + first * a.d_o_stride + column;
    copy_rows(query, t.q_stride, rows, t.head_dim, s.query, words);
    copy_rows(d_out, a.d_o_stride, rows, t.head_dim, s.d_out, words);
    pair_rows(query, t.q_stride, rows, t.head_dim, s.query_pairs, dim, 2 * depth);
    pair_rows(d_out, a.d_o_stride, rows, t.head_dim, s.d_out_pairs, dim, 2 * depth);
    std::fill_n(s.dq, rows * dim, 0.0F);
    float delta[kQueryBlock];
    output_products(t, a, head, first, rows, delta);
    const KeyRange range = visible_blocks(t, first, rows);
    for (std::int64_t b = range.first_block; b < range.end_block; ++b) {
        gradients_of_scores(t, a, mask, s, head, first, rows, b, delta);
        round_gradients(s, rows);
        const std::int64_t at = b * kKeyBlock * dim;
        product<Pairs>(s.p_pairs, 1, kKeyBlock, s.d_out_pairs, dim, s.dv + at, dim, kKeyBlock, dim, depth,
                       true);
        product<Pairs>(s.ds_pairs, 1, kKeyBlock, s.query_pairs, dim, s.dk + at, dim, kKeyBlock, dim, depth,
                       true);
        product<Pairs>(s.ds, kKeyWords, 1, s.keys + at / 2, dim, s.dq, dim, rows, dim, kKeyWords, true);
    }
    const Vec scale = hn::Set(Tag(), t.scale);
    for (std::int64_t r = 0; r < rows; ++r) {
        bf16* to = a.dq + (first + r) * a.dq_stride + column;
        for (std::int64_t c = 0; c < t.head_dim; c += n)
            store(hn::Mul(load(s.dq + r * dim + c), scale), to + c, t.head_dim - c);
    }
}

void backward_avx3(const AttentionTask& t, const AttentionBackward<bf16>& a, const Dropout& mask,
                   float* scratch) {
    const std::int64_t n = lanes();
    const std::int64_t dim = padded_dim(t.head_dim);
    const std::int64_t words = dim / 2;
    const BackwardPairs s(t, scratch);
    const std::int64_t blocks = key_blocks(t.keys);
    for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t first = b * kKeyBlock;
        const std::int64_t rows = std::min(kKeyBlock, t.keys - first);
        pair_columns(a.k + first * t.k_stride, t.k_stride, rows, t.head_dim, s.keys_t + first * words, words);
        pair_columns(a.v + first * t.v_stride, t.v_stride, rows, t.head_dim, s.values_t + first * words,
                     words);
        pair_rows(a.k + first * t.k_stride, t.k_stride, rows, t.head_dim, s.keys + first * words, dim,
                  kKeyBlock);
    }
    std::fill_n(s.dk, blocks * kKeyBlock * dim, 0.0F);
    std::fill_n(s.dv, blocks * kKeyBlock * dim, 0.0F);
    for (std::int64_t h = 0; h < t.group; ++h) {
        for (std::int64_t first = 0; first < t.queries; first += kQueryBlock)
            backward_queries(t, a, mask, s, h, first);
    }
    const Vec scale = hn::Set(Tag(), t.scale);
    for (std::int64_t r = 0; r < t.keys; ++r) {
        for (std::int64_t c = 0; c < t.head_dim; c += n) {
            const std::int64_t left = t.head_dim - c;
            store(hn::Mul(load(s.dk + r * dim + c), scale), a.dk + r * a.dk_stride + c, left);
            store(load(s.dv + r * dim + c), a.dv + r * a.dv_stride + c, left);
        }
    }
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace longhaul::kernels::cpu {

std::int64_t forward_pairs_scratch(const AttentionTask& t) {
    return N_AVX3::ForwardPairs(t, nullptr).used;
}
std::int64_t backward_pairs_scratch(const AttentionTask& t) {
    return N_AVX3::BackwardPairs(t, nullptr).used;
}

void forward_pairs(const AttentionTask& t, const AttentionForward<bf16>& a, const Dropout& mask,
                   float* scratch) {
    N_AVX3::forward_avx3(t, a, mask, scratch);
}
void backward_pairs(const AttentionTask& t, const AttentionBackward<bf16>& a, const Dropout& mask,
                    float* scratch) {
    N_AVX3::backward_avx3(t, a, mask, scratch);
}

}  // namespace longhaul::kernels::cpu
#endif
