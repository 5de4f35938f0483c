// Linear layers against plain loops: odd sizes, strides, accumulation, shapes of more than one tile.
#include "kernels/support.h"

namespace longhaul::kernels::test {

namespace {

struct Extents {
    std::int64_t tokens;
    std::int64_t in;
    std::int64_t out;
    std::int64_t padding;
};

std::vector<Extents> shapes() {
    std::vector<Extents> all;
    for (const std::int64_t tokens : kOddSizes) {
        for (const std::int64_t in : {1, 7, 33}) {
            for (const std::int64_t out : {1, 33}) all.push_back({tokens, in, out, tokens % 2 == 0 ? 0 : 5});
        }
    }
    all.push_back({33, 257, 257, 0});
    all.push_back({257, 257, 33, 3});
    all.push_back({1, 257, 700, 0});
    // Sums of more terms than one call of the library takes, in each of the three directions.
    all.push_back({9, 17, 9001, 3});
    all.push_back({350, 17, 9001, 0});
    all.push_back({9001, 17, 9, 1});
    // More than one tile in each direction, with edges.
    all.push_back({600, 40, 530, 0});
    all.push_back({530, 40, 600, 1});
    return all;
}

// Sums of n products of normal numbers: the rounding of fp32 grows with the root of n.
double tolerance(std::int64_t terms) {
    return 4e-7 * std::sqrt(static_cast<double>(terms) + 16);
}

}  // namespace

TEST(Linear, ForwardEqualsPlainLoops) {
    for (const DType dtype : kComputeTypes) {
        for (const auto& [tokens, in, out, padding] : shapes()) {
            for (const bool biased : {false, true}) {
                SCOPED_TRACE(testing::Message()
                             << name_of(dtype) << " " << tokens << " " << in << " " << out << " " << biased);
                const Matrix x = Matrix::random(dtype, tokens, in, 1, 1, padding);
                const Matrix w = Matrix::random(dtype, out, in, 2, 1, padding);
                const Matrix bias = Matrix::random(DType::f32, 1, out, 3);
                check(
                    [&](const Device& device) {
                        Matrix y(dtype, tokens, out, padding);
                        linear_forward(device, x.view(), w.view(), biased ? bias.vector() : ConstTensorView{},
                                       y.view());
                        return std::vector{y};
                    },
                    tolerance(in));
            }
        }
    }
}

TEST(Linear, Bf16CanGiveFp32Logits) {
    for (const std::int64_t tokens : {1, 33, 600}) {
        const Matrix x = Matrix::random(DType::bf16, tokens, 70, 1);
        const Matrix w = Matrix::random(DType::bf16, 257, 70, 2);
        check(
            [&](const Device& device) {
                Matrix y(DType::f32, tokens, 257);
                linear_forward(device, x.view(), w.view(), {}, y.view());
                return std::vector{y};
            },
            tolerance(70));
    }
}

TEST(Linear, InputGradEqualsPlainLoops) {
    for (const DType dtype : kComputeTypes) {
        for (const auto& [tokens, in, out, padding] : shapes()) {
            for (const Accumulate accumulate : {Accumulate::no, Accumulate::yes}) {
                SCOPED_TRACE(testing::Message()
                             << name_of(dtype) << " " << tokens << " " << in << " " << out);
                const Matrix dy = Matrix::random(dtype, tokens, out, 1, 1, padding);
                const Matrix w = Matrix::random(dtype, out, in, 2, 1, padding);
                check(
                    [&](const Device& device) {
                        Matrix dx = Matrix::random(dtype, tokens, in, 3, 1, padding);
                        linear_input_grad(device, dy.view(), w.view(), dx.view(), accumulate);
                        return std::vector{dx};
                    },
                    tolerance(out));
            }
        }
    }
}

TEST(Linear, WeightGradEqualsPlainLoops) {
    for (const DType dtype : kComputeTypes) {
        for (const auto& [tokens, in, out, padding] : shapes()) {
            for (const bool biased : {false, true}) {
                SCOPED_TRACE(testing::Message()
                             << name_of(dtype) << " " << tokens << " " << in << " " << out << " " << biased);
                const Matrix dy = Matrix::random(dtype, tokens, out, 1, 1, padding);
                const Matrix x = Matrix::random(dtype, tokens, in, 2, 1, padding);
                check(
                    [&](const Device& device) {
                        Matrix dw = Matrix::random(DType::f32, out, in, 3, 1, padding);
                        Matrix db = Matrix::random(DType::f32, 1, out, 4);
                        linear_weight_grad(device, dy.view(), x.view(), dw.view(),
                                           biased ? db.vector() : TensorView{});
                        return std::vector{dw, db};
                    },
                    tolerance(tokens));
            }
        }
    }
}

// Column slices of a fused matrix, as q, k and v are.
TEST(Linear, TakesColumnSlices) {
    for (const DType dtype : kComputeTypes) {
        const Matrix x = Matrix::random(dtype, 33, 96, 1);
        const Matrix w = Matrix::random(dtype, 40, 32, 2);
        check(
            [&](const Device& device) {
                Matrix y(dtype, 33, 120);
                linear_forward(device, x.view().column_range(32, 32), w.view(), {},
                               y.view().column_range(40, 40));
                return std::vector{y};
            },
            tolerance(32));
    }
}

// Terms of a bias gradient that cancel: what is left is below the rounding of one fp32 term.
TEST(Linear, BiasGradIsSummedInDouble) {
    Matrix dy(DType::f32, 3001, 37);
    for (std::int64_t t = 0; t < dy.rows(); ++t) {
        for (std::int64_t i = 0; i < dy.columns(); ++i)
            dy.set(t, i, t == 3000 ? 1e-6 : (t % 2 == 0 ? 1.1 : -1.1) * (1 + t / 2));
    }
    const Matrix x = Matrix::random(DType::f32, 3001, 1, 1);
    Matrix dw(DType::f32, 37, 1);
    Matrix db(DType::f32, 1, 37);
    linear_weight_grad(fast(), dy.view(), x.view(), dw.view(), db.vector());
    for (std::int64_t i = 0; i < 37; ++i) EXPECT_EQ(db.get(0, i), static_cast<float>(1e-6)) << i;
}

TEST(Linear, EmptyExtents) {
    const Matrix none(DType::f32, 0, 8);
    const Matrix w = Matrix::random(DType::f32, 4, 8, 1);
    Matrix y(DType::f32, 0, 4);
    linear_forward(fast(), none.view(), w.view(), {}, y.view());
    Matrix dw = Matrix::random(DType::f32, 4, 8, 3);
    const Matrix before = dw;
    linear_weight_grad(fast(), y.view(), none.view(), dw.view(), {});
    EXPECT_TRUE(dw == before);
}

}  // namespace longhaul::kernels::test
