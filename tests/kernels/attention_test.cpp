// Attention on a device against the plain loops: windows, grouped heads, odd sizes, dropout, decoding.
#include "kernels/support.h"

namespace longhaul::kernels::test {
namespace {

struct Case {
    AttentionShape shape;
    float dropout = 0;
};

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const std::int64_t seq : {1, 7, 33, 65, 257}) {
        for (const std::int64_t kv_heads : {1, 2, 3, 6}) {
            if (seq == 257 && kv_heads != 2) continue;
            for (const std::int64_t window : {0, 1, 5, 64}) {
                if (seq == 257 && window == 5) continue;
                const std::int64_t head_dim = seq == 33 ? 7 : seq == 65 ? 64 : 20;
                list.push_back({{2, seq, seq, 6, kv_heads, head_dim, window}});
            }
        }
    }
    list.push_back({{2, 33, 33, 4, 2, 16, 0}, 0.3F});
    list.push_back({{1, 70, 70, 2, 1, 8, 9}, 0.5F});
    return list;
}

struct Inputs {
    Matrix q, k, v, d_o;
};

Inputs inputs(const AttentionShape& s, DType type) {
    const std::int64_t wide = s.heads * s.head_dim;
    const std::int64_t narrow = s.kv_heads * s.head_dim;
    return {Matrix::random(type, s.batch * s.queries, wide, 1, 1, 3),
            Matrix::random(type, s.batch * s.keys, narrow, 2, 1, 5),
            Matrix::random(type, s.batch * s.keys, narrow, 3, 1, 1),
            Matrix::random(type, s.batch * s.queries, wide, 4, 1, 2)};
}

Dropout mask_of(const Case& c) {
    return {c.dropout, 12345, 7, 3};
}

std::string name_of(const Case& c) {
    const AttentionShape& s = c.shape;
    return fmt::format("queries {} keys {} heads {}/{} dim {} window {}", s.queries, s.keys, s.heads,
                       s.kv_heads, s.head_dim, s.window);
}

// With AVX-512-BF16 the probabilities and the gradients of the scores are operands of bf16 products: each is
// off by 2^-9 of itself at most, and so is a sum of their multiples. (Dropout enlarges what it keeps.)
double rounding(DType type) {
    return type == DType::bf16 && fast().isa() >= Isa::avx512_bf16 ? 0x1p-9 : 0.0;
}

// Output and log-sum-exp, which is never rounded.
void check_forward(const Case& c, const Inputs& in, DType type) {
    const AttentionShape& s = c.shape;
    const auto run = [&](const Device& device) {
        Matrix o(type, in.q.rows(), in.q.columns(), 1);
        Matrix lse(DType::f32, 1, s.batch * s.heads * s.queries);
        attention_forward(device, s, in.q.view(), in.k.view(), in.v.view(), mask_of(c), o.view(),
                          lse.vector());
        return std::pair{o, lse};
    };
    check([&](const Device& device) { return std::vector{run(device).first}; }, 4e-6 + rounding(type), 1.0);
    check([&](const Device& device) { return std::vector{run(device).second}; }, 4e-6);
}

TEST(Attention, Forward) {
    for (const DType type : kComputeTypes) {
        for (const Case& c : cases()) {
            SCOPED_TRACE(name_of(c));
            check_forward(c, inputs(c.shape, type), type);
        }
    }
}

TEST(Attention, Backward) {
    for (const DType type : kComputeTypes) {
        for (const Case& c : cases()) {
            SCOPED_TRACE(name_of(c));
            const Inputs in = inputs(c.shape, type);
            Matrix o(type, in.q.rows(), in.q.columns());
            Matrix lse(DType::f32, 1, c.shape.batch * c.shape.heads * c.shape.queries);
            attention_forward(plain(), c.shape, in.q.view(), in.k.view(), in.v.view(), mask_of(c), o.view(),
                              lse.vector());
            check(
                [&](const Device& device) {
                    Matrix dq(type, in.q.rows(), in.q.columns(), 1);
                    Matrix dk(type, in.k.rows(), in.k.columns(), 1);
                    Matrix dv(type, in.v.rows(), in.v.columns(), 1);
                    attention_backward(device, c.shape, in.q.view(), in.k.view(), in.v.view(), o.view(),
                                       lse.vector(), in.d_o.view(), mask_of(c), dq.view(), dk.view(),
                                       dv.view());
                    return std::vector{dq, dk, dv};
                },
                2e-5 + rounding(type) / (1.0 - static_cast<double>(c.dropout)), 1.0);
        }
    }
}

// One query and some, at the end of a longer row of keys: decoding with a cache.
TEST(Attention, FewerQueriesThanKeys) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t queries : {1, 2, 9, 70}) {
            for (const std::int64_t window : {0, 3, 80}) {
                const Case c{{2, queries, 130, 4, 2, 24, window}};
                SCOPED_TRACE(name_of(c));
                check_forward(c, inputs(c.shape, type), type);
            }
        }
    }
}

// Scores of hundreds: exp must not overflow, hidden keys must not leak.
TEST(Attention, LargeScores) {
    const AttentionShape s{1, 65, 65, 2, 1, 16, 0};
    const Matrix q = Matrix::random(DType::f32, 65, 32, 1, 30);
    const Matrix k = Matrix::random(DType::f32, 65, 16, 2, 30);
    const Matrix v = Matrix::random(DType::f32, 65, 16, 3);
    check(
        [&](const Device& device) {
            Matrix o(DType::f32, 65, 32);
            Matrix lse(DType::f32, 1, 130);
            attention_forward(device, s, q.view(), k.view(), v.view(), {}, o.view(), lse.vector());
            return std::vector{o, lse};
        },
        2e-4);
}

// A bias on keys has no effect, so its gradient, the column sums of dk, is zero far below the rounding of dk.
TEST(Attention, GradientsOfKeysSumToZero) {
    const AttentionShape s{1, 97, 97, 4, 2, 16, 0};
    const Inputs in = inputs(s, DType::f32);
    Matrix o(DType::f32, 97, 64);
    Matrix lse(DType::f32, 1, 4 * 97);
    attention_forward(fast(), s, in.q.view(), in.k.view(), in.v.view(), {}, o.view(), lse.vector());
    Matrix dq(DType::f32, 97, 64);
    Matrix dk(DType::f32, 97, 32);
    Matrix dv(DType::f32, 97, 32);
    attention_backward(fast(), s, in.q.view(), in.k.view(), in.v.view(), o.view(), lse.vector(),
                       in.d_o.view(), {}, dq.view(), dk.view(), dv.view());
    for (std::int64_t c = 0; c < 32; ++c) {
        double sum = 0;
        for (std::int64_t r = 0; r < 97; ++r) sum += dk.get(r, c);
        EXPECT_LE(std::abs(sum), 3e-9 * dk.largest()) << c;
    }
}

}  // namespace
}  // namespace longhaul::kernels::test
