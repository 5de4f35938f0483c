// Embedding, cross-entropy, element-wise ops and optimizer updates on a device against the plain loops.
#include <limits>

#include "base/error.h"
#include "kernels/support.h"

namespace longhaul::kernels::test {
namespace {

Matrix ids_of(std::int64_t count, std::int64_t vocab, bool padding) {
    Matrix ids(DType::i32, 1, count);
    for (std::int64_t i = 0; i < count; ++i)
        ids.set(0, i, padding && i % 5 == 2 ? -1 : static_cast<double>(i * 31 % vocab));
    return ids;
}

TEST(Ends, Embedding) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t hidden : kOddSizes) {
            const Matrix ids = ids_of(42, 19, true);
            const Matrix table = Matrix::random(type, 19, hidden, 1, 1, 1);
            const Matrix positions = Matrix::random(type, 30, hidden, 2);
            const Matrix dy = Matrix::random(type, 42, hidden, 3, 1, 2);
            for (const bool learned : {false, true}) {
                check([&](const Device& device) {
                    Matrix y(type, 42, hidden, 3);
                    embedding_forward(device, ids.vector(), table.view(),
                                      learned ? positions.view() : ConstTensorView(), 21, learned ? 4 : 0,
                                      y.view());
                    return std::vector{y};
                });
                check([&](const Device& device) {
                    Matrix dtable = Matrix::random(DType::f32, 19, hidden, 5);
                    Matrix dpositions = Matrix::random(DType::f32, 21, hidden, 6);
                    embedding_backward(device, ids.vector(), dy.view(), 21, dtable.view(),
                                       learned ? dpositions.view() : TensorView());
                    return std::vector{dtable, dpositions};
                });
            }
        }
    }
}

TEST(Ends, EmbeddingNamesAnIdThatTheTableLacks) {
    const Matrix table = Matrix::random(DType::f32, 19, 8, 1);
    Matrix ids = ids_of(4, 19, false);
    ids.set(0, 2, 19);
    Matrix y(DType::f32, 4, 8);
    for (const Device* device : {&fast(), &plain()}) {
        try {
            embedding_forward(*device, ids.vector(), table.view(), {}, 4, 0, y.view());
            FAIL() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_data);
            EXPECT_NE(std::string(error.what()).find("19"), std::string::npos) << error.what();
        }
    }
}

TEST(Ends, CrossEntropy) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t rows : kOddSizes) {
            for (const std::int64_t vocab : {1, 7, 33, 257, 1031}) {
                const Matrix logits = Matrix::random(DType::f32, rows, vocab, 1, 4, 1);
                const Matrix targets = ids_of(rows, vocab, rows > 1);
                check(
                    [&](const Device& device) {
                        Matrix losses(DType::f32, 1, rows);
                        Matrix d(type, rows, vocab, 2);
                        cross_entropy(device, logits.view(), targets.vector(), 0.125F, losses.vector(),
                                      d.view());
                        return std::vector{losses, d};
                    },
                    4e-6);
                check(
                    [&](const Device& device) {
                        Matrix losses(DType::f32, 1, rows);
                        Matrix in_place = logits;
                        cross_entropy(device, in_place.view(), targets.vector(), 1.0F, losses.vector(),
                                      in_place.view());
                        return std::vector{losses, in_place};
                    },
                    4e-6);
            }
        }
    }
}

TEST(Ends, CrossEntropyOfHugeLogits) {
    Matrix logits(DType::f32, 1, 3);
    logits.set(0, 0, 1e30);
    logits.set(0, 1, -1e30);
    const Matrix targets = ids_of(1, 3, false);
    Matrix losses(DType::f32, 1, 1);
    cross_entropy(fast(), logits.view(), targets.vector(), 1.0F, losses.vector(), {});
    EXPECT_EQ(losses.get(0, 0), 0);
}

TEST(Elementwise, AddAndConvert) {
    for (const std::int64_t columns : kOddSizes) {
        for (const DType type : kComputeTypes) {
            const Matrix a = Matrix::random(type, 7, columns, 1, 1, 1);
            const Matrix b = Matrix::random(type, 7, columns, 2, 1, 2);
            check([&](const Device& device) {
                Matrix out = a;
                add(device, out.view(), b.view(), out.view());
                return std::vector{out};
            });
            for (const DType to : kComputeTypes) {
                check([&](const Device& device) {
                    Matrix out(to, 7, columns, 3);
                    convert(device, a.view(), out.view());
                    return std::vector{out};
                });
            }
            check([&](const Device& device) {
                Matrix out = a;
                fill_zero(device, out.view());
                return std::vector{out};
            });
        }
    }
}

TEST(Elementwise, RoundingToBf16IsToNearestEvenForEveryPattern) {
    constexpr std::int64_t kCount = 1 << 16;
    Matrix x(DType::f32, 1, kCount);
    // Every upper half, with lower halves on and around the middle.
    const std::uint32_t lows[] = {0x0000, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    for (const std::uint32_t low : lows) {
        for (std::int64_t i = 0; i < kCount; ++i) {
            const std::uint32_t word = static_cast<std::uint32_t>(i) << 16U | low;
            std::memcpy(x.view().as<float>() + i, &word, sizeof word);
        }
        Matrix y(DType::bf16, 1, kCount);
        convert(fast(), x.view(), y.view());
        for (std::int64_t i = 0; i < kCount; ++i) {
            const float value = x.view().as<float>()[i];
            const bf16 expected(value);
            const bf16 actual = y.view().as<bf16>()[i];
            if (std::isnan(value)) {
                ASSERT_TRUE(std::isnan(static_cast<float>(actual))) << i;
            } else {
                ASSERT_EQ(static_cast<float>(actual), static_cast<float>(expected)) << value;
            }
        }
    }
}

TEST(Elementwise, SumOfSquares) {
    for (const std::int64_t count :
         {std::int64_t{1}, std::int64_t{7}, std::int64_t{257}, std::int64_t{100003}}) {
        Matrix x = Matrix::random(DType::f32, 1, count, 3);
        const double expected = sum_squares(plain(), x.span<const float>());
        EXPECT_NEAR(sum_squares(fast(), x.span<const float>()), expected, 1e-12 * expected);
        const int before = threads();
        set_threads(3);
        const double three = sum_squares(fast(), x.span<const float>());
        set_threads(1);
        EXPECT_EQ(sum_squares(fast(), x.span<const float>()), three);
        set_threads(before);
        for (const double bad :
             {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
            x.set(0, count / 2, bad);
            EXPECT_FALSE(std::isfinite(sum_squares(fast(), x.span<const float>())));
        }
    }
}

struct OptimizerState {
    Matrix weight, gradient, first_moment, second_moment;
};

OptimizerState state_of(std::int64_t count) {
    const auto drawn = [count](std::uint64_t seed, double scale) {
        return Matrix::random(DType::f32, 1, count, seed, scale);
    };
    OptimizerState state{drawn(1, 1), drawn(2, 0.1), drawn(3, 0.1), drawn(4, 0.1)};
    Matrix& v = state.second_moment;
    for (std::int64_t i = 0; i < count; ++i) v.set(0, i, v.get(0, i) * v.get(0, i));
    return state;
}

TEST(Optimizer, AdamwAndLamb) {
    for (const std::int64_t count :
         {std::int64_t{1}, std::int64_t{33}, std::int64_t{257}, std::int64_t{70001}}) {
        for (const bool decay : {false, true}) {
            const AdamStep step{1e-3, 0.9, 0.95, 1e-8, decay ? 0.1 : 0.0, 0.271, 0.142625, 0.7};
            check(
                [&](const Device& device) {
                    auto [w, g, m, v] = state_of(count);
                    Matrix copy(DType::bf16, 1, count);
                    adamw_update(device, step, w.span<float>(), g.span<const float>(), m.span<float>(),
                                 v.span<float>(), copy.span<bf16>());
                    return std::vector{w, m, v, copy};
                },
                4e-7);
            check(
                [&](const Device& device) {
                    auto [w, g, m, v] = state_of(count);
                    Matrix norms(DType::f32, 1, 2);
                    const LambNorms n = lamb_direction(device, step, w.span<const float>(), g.span<float>(),
                                                       m.span<float>(), v.span<float>());
                    norms.set(0, 0, n.weight_squares);
                    norms.set(0, 1, n.update_squares);
                    Matrix copy(DType::bf16, 1, count);
                    lamb_apply(device, 1e-3F, w.span<float>(), g.span<const float>(), copy.span<bf16>());
                    return std::vector{w, g, m, v, norms, copy};
                },
                1e-6);
        }
    }
}

}  // namespace
}  // namespace longhaul::kernels::test
