// Norms, activations and positions on a device against the plain loops.
#include "kernels/support.h"

namespace longhaul::kernels::test {
namespace {

Matrix ones_and_more(std::int64_t columns, std::uint64_t seed) {
    Matrix m = Matrix::random(DType::f32, 1, columns, seed, 0.3);
    for (std::int64_t c = 0; c < columns; ++c) m.set(0, c, 1 + m.get(0, c));
    return m;
}

TEST(Norm, LayerNorm) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t rows : kOddSizes) {
            for (const std::int64_t columns : kOddSizes) {
                const bool bias = rows != 7;
                const auto accumulate = rows == 33 ? Accumulate::yes : Accumulate::no;
                const Matrix x = Matrix::random(type, rows, columns, 1, 2, 3);
                const Matrix dy = Matrix::random(type, rows, columns, 2, 1, 1);
                const Matrix weight = ones_and_more(columns, 3);
                const Matrix offset = Matrix::random(DType::f32, 1, columns, 4);
                check(
                    [&](const Device& device) {
                        Matrix y(type, rows, columns, 2);
                        Matrix mean(DType::f32, 1, rows);
                        Matrix rstd(DType::f32, 1, rows);
                        layernorm_forward(device, x.view(), weight.vector(),
                                          bias ? offset.vector() : ConstTensorView(), 1e-5F, y.view(),
                                          mean.vector(), rstd.vector());
                        return std::vector{y, mean, rstd};
                    },
                    2e-6);
                // The backward's statistics are inputs: those of the plain loops for all.
                Matrix y(type, rows, columns);
                Matrix mean(DType::f32, 1, rows);
                Matrix rstd(DType::f32, 1, rows);
                layernorm_forward(plain(), x.view(), weight.vector(), {}, 1e-5F, y.view(), mean.vector(),
                                  rstd.vector());
                check(
                    [&](const Device& device) {
                        Matrix dx = Matrix::random(type, rows, columns, 5, 1, 1);
                        Matrix dweight = Matrix::random(DType::f32, 1, columns, 6);
                        Matrix dbias = Matrix::random(DType::f32, 1, columns, 7);
                        layernorm_backward(device, dy.view(), x.view(), weight.vector(), mean.vector(),
                                           rstd.vector(), dx.view(), dweight.vector(),
                                           bias ? dbias.vector() : TensorView(), accumulate);
                        return std::vector{dx, dweight, dbias};
                    },
                    4e-6, 1);
            }
        }
    }
}

TEST(Norm, RmsNorm) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t rows : kOddSizes) {
            for (const std::int64_t columns : kOddSizes) {
                const auto accumulate = rows == 7 ? Accumulate::yes : Accumulate::no;
                const Matrix x = Matrix::random(type, rows, columns, 1, 2, 3);
                const Matrix dy = Matrix::random(type, rows, columns, 2, 1, 1);
                const Matrix weight = ones_and_more(columns, 3);
                check(
                    [&](const Device& device) {
                        Matrix y(type, rows, columns, 2);
                        Matrix rstd(DType::f32, 1, rows);
                        rmsnorm_forward(device, x.view(), weight.vector(), 1e-6F, y.view(), rstd.vector());
                        return std::vector{y, rstd};
                    },
                    2e-6);
                Matrix y(type, rows, columns);
                Matrix rstd(DType::f32, 1, rows);
                rmsnorm_forward(plain(), x.view(), weight.vector(), 1e-6F, y.view(), rstd.vector());
                check(
                    [&](const Device& device) {
                        Matrix dx = Matrix::random(type, rows, columns, 5, 1, 1);
                        Matrix dweight = Matrix::random(DType::f32, 1, columns, 6);
                        rmsnorm_backward(device, dy.view(), x.view(), weight.vector(), rstd.vector(),
                                         dx.view(), dweight.vector(), accumulate);
                        return std::vector{dx, dweight};
                    },
                    4e-6, 1);
            }
        }
    }
}

TEST(Activation, GeluWithAndWithoutBias) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t rows : kOddSizes) {
            for (const std::int64_t columns : kOddSizes) {
                const bool bias = rows != 33;
                const Matrix x = Matrix::random(type, rows, columns, 1, 3, 2);
                const Matrix dy = Matrix::random(type, rows, columns, 2, 1, 1);
                const Matrix offset = Matrix::random(DType::f32, 1, columns, 3);
                const ConstTensorView b = bias ? offset.vector() : ConstTensorView();
                check(
                    [&](const Device& device) {
                        Matrix y(type, rows, columns, 1);
                        bias_gelu_forward(device, x.view(), b, y.view());
                        return std::vector{y};
                    },
                    2e-6);
                check(
                    [&](const Device& device) {
                        Matrix dx = dy;  // in place
                        Matrix dbias = Matrix::random(DType::f32, 1, columns, 4);
                        bias_gelu_backward(device, dx.view(), x.view(), b, dx.view(),
                                           bias ? dbias.vector() : TensorView());
                        return std::vector{dx, dbias};
                    },
                    type == DType::f32 ? 4e-6 : 2e-2);  // bf16: column sums are of rounded values on one side
            }
        }
    }
}

TEST(Activation, GeluFarFromZero) {
    Matrix x(DType::f32, 1, 12);
    const double values[] = {-1e30, -100, -12, -6, -1e-30, 0, 1e-30, 6, 12, 100, 1e18, 1e30};
    for (std::int64_t c = 0; c < 12; ++c) x.set(0, c, values[c]);
    Matrix y(DType::f32, 1, 12);
    bias_gelu_forward(fast(), x.view(), {}, y.view());
    for (std::int64_t c = 0; c < 12; ++c) {
        const double z = values[c];
        const double exact = 0.5 * z * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
        EXPECT_NEAR(y.get(0, c), exact, 1e-6 * std::abs(z) + 1e-30) << z;
    }
}

TEST(Activation, Swiglu) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t rows : kOddSizes) {
            for (const std::int64_t columns : kOddSizes) {
                const Matrix gate_up = Matrix::random(type, rows, 2 * columns, 1, 3, 2);
                const Matrix dy = Matrix::random(type, rows, columns, 2, 1, 1);
                check(
                    [&](const Device& device) {
                        Matrix y(type, rows, columns, 1);
                        swiglu_forward(device, gate_up.view(), y.view());
                        return std::vector{y};
                    },
                    2e-6);
                check(
                    [&](const Device& device) {
                        Matrix d = gate_up;  // in place
                        swiglu_backward(device, dy.view(), d.view(), d.view());
                        return std::vector{d};
                    },
                    4e-6, 1);
            }
        }
    }
}

TEST(Positional, RopeWholeAndInPart) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t head_dim : {4, 16, 66}) {
            for (const std::int64_t rotated : {std::int64_t{2}, head_dim}) {
                Matrix table(DType::f32, 40, rotated);
                rope_table(10000.0, table.view());
                const Matrix x = Matrix::random(type, 21, 3 * head_dim, 1, 1, 5);
                for (const bool inverse : {false, true}) {
                    check([&](const Device& device) {
                        Matrix y = x;
                        rope(device, table.view(), head_dim, 7, 11, inverse, y.view());
                        return std::vector{y};
                    });
                }
                Matrix there_and_back = x;
                rope(fast(), table.view(), head_dim, 7, 0, false, there_and_back.view());
                rope(fast(), table.view(), head_dim, 7, 0, true, there_and_back.view());
                expect_close(there_and_back, x, type == DType::f32 ? 1e-6 : 2e-2, "rotated and back");
            }
        }
    }
}

TEST(Positional, DropoutIsTheSameMaskEverywhereAndKeepsTheMean) {
    for (const DType type : kComputeTypes) {
        for (const std::int64_t columns : kOddSizes) {
            const Matrix x = Matrix::random(type, 66, columns, 1, 1, 1);
            const Dropout mask{0.3F, 77, 5, 3};
            check([&](const Device& device) {
                Matrix y(type, 66, columns);
                dropout(device, x.view(), mask, 33, y.view());
                return std::vector{y};
            });
        }
    }
    Matrix ones(DType::f32, 100, 257);
    for (std::int64_t r = 0; r < 100; ++r) {
        for (std::int64_t c = 0; c < 257; ++c) ones.set(r, c, 1);
    }
    dropout(fast(), ones.view(), {0.25F, 9, 1, 0}, 100, ones.view());
    double sum = 0;
    for (std::int64_t r = 0; r < 100; ++r) {
        for (std::int64_t c = 0; c < 257; ++c) sum += ones.get(r, c);
    }
    EXPECT_NEAR(sum / 25700, 1, 0.02);
}

}  // namespace
}  // namespace longhaul::kernels::test
