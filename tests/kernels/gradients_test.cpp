// Finite differences: the plain loops' backward passes, the oracle of every other test, are derivatives of
// their forwards.
#include <functional>

#include "kernels/support.h"

namespace longhaul::kernels::test {
namespace {

using Forward = std::function<Matrix(const Matrix&)>;

double inner(const Matrix& a, const Matrix& b) {
    double sum = 0;
    for (std::int64_t r = 0; r < a.rows(); ++r) {
        for (std::int64_t c = 0; c < a.columns(); ++c) sum += a.get(r, c) * b.get(r, c);
    }
    return sum;
}

// d <f(x), dy> / dx by central differences, against `gradient`.
void expect_gradient(const Forward& f, const Matrix& x, const Matrix& dy, const Matrix& gradient,
                     const std::string& what) {
    constexpr double kStep = 4e-3;
    for (std::int64_t r = 0; r < x.rows(); ++r) {
        for (std::int64_t c = 0; c < x.columns(); ++c) {
            Matrix up = x;
            Matrix down = x;
            up.set(r, c, x.get(r, c) + kStep);
            down.set(r, c, x.get(r, c) - kStep);
            const double width = up.get(r, c) - down.get(r, c);
            const double numeric = (inner(f(up), dy) - inner(f(down), dy)) / width;
            ASSERT_NEAR(gradient.get(r, c), numeric, 2e-3 * std::max(1.0, gradient.largest()))
                << what << " " << r << " " << c;
        }
    }
}

Matrix f32(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    return Matrix::random(DType::f32, rows, columns, seed, 0.7);
}

TEST(Gradients, Linear) {
    const Matrix x = f32(3, 7, 1);
    const Matrix w = f32(5, 7, 2);
    const Matrix b = f32(1, 5, 3);
    const Matrix dy = f32(3, 5, 4);
    const auto run = [](const Matrix& xs, const Matrix& ws, const Matrix& bs) {
        Matrix y(DType::f32, xs.rows(), ws.rows());
        linear_forward(plain(), xs.view(), ws.view(), bs.vector(), y.view());
        return y;
    };
    Matrix dx(DType::f32, 3, 7);
    Matrix dw(DType::f32, 5, 7);
    Matrix db(DType::f32, 1, 5);
    linear_input_grad(plain(), dy.view(), w.view(), dx.view());
    linear_weight_grad(plain(), dy.view(), x.view(), dw.view(), db.vector());
    expect_gradient([&](const Matrix& m) { return run(m, w, b); }, x, dy, dx, "x");
    expect_gradient([&](const Matrix& m) { return run(x, m, b); }, w, dy, dw, "weight");
    expect_gradient([&](const Matrix& m) { return run(x, w, m); }, b, dy, db, "bias");
}

TEST(Gradients, Norms) {
    const Matrix x = f32(3, 7, 1);
    const Matrix w = f32(1, 7, 2);
    const Matrix b = f32(1, 7, 3);
    const Matrix dy = f32(3, 7, 4);
    for (const bool rms : {false, true}) {
        Matrix mean(DType::f32, 1, 3);
        Matrix rstd(DType::f32, 1, 3);
        const auto run = [&](const Matrix& xs, const Matrix& ws, const Matrix& bs) {
            Matrix y(DType::f32, 3, 7);
            if (rms) {
                rmsnorm_forward(plain(), xs.view(), ws.vector(), 1e-5F, y.view(), rstd.vector());
            } else {
                layernorm_forward(plain(), xs.view(), ws.vector(), bs.vector(), 1e-5F, y.view(),
                                  mean.vector(), rstd.vector());
            }
            return y;
        };
        (void)run(x, w, b);
        Matrix dx(DType::f32, 3, 7);
        Matrix dw(DType::f32, 1, 7);
        Matrix db(DType::f32, 1, 7);
        if (rms) {
            rmsnorm_backward(plain(), dy.view(), x.view(), w.vector(), rstd.vector(), dx.view(), dw.vector());
        } else {
            layernorm_backward(plain(), dy.view(), x.view(), w.vector(), mean.vector(), rstd.vector(),
                               dx.view(), dw.vector(), db.vector());
        }
        expect_gradient([&](const Matrix& m) { return run(m, w, b); }, x, dy, dx, "x");
        expect_gradient([&](const Matrix& m) { return run(x, m, b); }, w, dy, dw, "weight");
        if (!rms) expect_gradient([&](const Matrix& m) { return run(x, w, m); }, b, dy, db, "bias");
    }
}

TEST(Gradients, Activations) {
    const Matrix x = f32(3, 8, 1);
    const Matrix b = f32(1, 8, 2);
    const Matrix dy = f32(3, 8, 3);
    const auto gelu = [](const Matrix& xs, const Matrix& bs) {
        Matrix y(DType::f32, 3, 8);
        bias_gelu_forward(plain(), xs.view(), bs.vector(), y.view());
        return y;
    };
    Matrix dx(DType::f32, 3, 8);
    Matrix db(DType::f32, 1, 8);
    bias_gelu_backward(plain(), dy.view(), x.view(), b.vector(), dx.view(), db.vector());
    expect_gradient([&](const Matrix& m) { return gelu(m, b); }, x, dy, dx, "gelu x");
    expect_gradient([&](const Matrix& m) { return gelu(x, m); }, b, dy, db, "gelu bias");
    const Matrix half = f32(3, 4, 4);
    Matrix d(DType::f32, 3, 8);
    swiglu_backward(plain(), half.view(), x.view(), d.view());
    expect_gradient(
        [&](const Matrix& m) {
            Matrix y(DType::f32, 3, 4);
            swiglu_forward(plain(), m.view(), y.view());
            return y;
        },
        x, half, d, "swiglu");
}

TEST(Gradients, AttentionWithWindowsAndGroups) {
    for (const std::int64_t window : {0, 3}) {
        for (const std::int64_t kv_heads : {1, 2, 4}) {
            for (const float drop : {0.0F, 0.4F}) {
                const AttentionShape s{2, 5, 5, 4, kv_heads, 3, window};
                const Dropout mask{drop, 3, 1, 0};
                const Matrix q = f32(10, 12, 1);
                const Matrix k = f32(10, kv_heads * 3, 2);
                const Matrix v = f32(10, kv_heads * 3, 3);
                const Matrix dy = f32(10, 12, 4);
                Matrix lse(DType::f32, 1, 2 * 4 * 5);
                const auto run = [&](const Matrix& qs, const Matrix& ks, const Matrix& vs) {
                    Matrix o(DType::f32, 10, 12);
                    attention_forward(plain(), s, qs.view(), ks.view(), vs.view(), mask, o.view(),
                                      lse.vector());
                    return o;
                };
                const Matrix o = run(q, k, v);
                Matrix dq(DType::f32, 10, 12);
                Matrix dk(DType::f32, 10, kv_heads * 3);
                Matrix dv(DType::f32, 10, kv_heads * 3);
                attention_backward(plain(), s, q.view(), k.view(), v.view(), o.view(), lse.vector(),
                                   dy.view(), mask, dq.view(), dk.view(), dv.view());
                expect_gradient([&](const Matrix& m) { return run(m, k, v); }, q, dy, dq, "q");
                expect_gradient([&](const Matrix& m) { return run(q, m, v); }, k, dy, dk, "k");
                expect_gradient([&](const Matrix& m) { return run(q, k, m); }, v, dy, dv, "v");
            }
        }
    }
}

TEST(Gradients, CrossEntropy) {
    const Matrix logits = f32(4, 9, 1);
    Matrix targets(DType::i32, 1, 4);
    for (std::int64_t t = 0; t < 4; ++t) targets.set(0, t, t == 2 ? -1 : static_cast<double>(t * 2));
    Matrix ones(DType::f32, 1, 4);
    for (std::int64_t t = 0; t < 4; ++t) ones.set(0, t, 1);
    const auto run = [&](const Matrix& m) {
        Matrix losses(DType::f32, 1, 4);
        cross_entropy(plain(), m.view(), targets.vector(), 1.0F, losses.vector(), {});
        return losses;
    };
    Matrix losses(DType::f32, 1, 4);
    Matrix d(DType::f32, 4, 9);
    cross_entropy(plain(), logits.view(), targets.vector(), 1.0F, losses.vector(), d.view());
    expect_gradient(run, logits, ones, d, "logits");
}

}  // namespace
}  // namespace longhaul::kernels::test
