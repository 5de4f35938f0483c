// Bias + GELU and SwiGLU. gelu(z) = z sigmoid(2 u) with u = sqrt(2/pi) (z + 0.044715 z^3), which is its tanh
// form without the cancellation in 1 + tanh.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector-inl.h"

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

constexpr float kTwoC = 1.5957691216057308F;  // 2 sqrt(2/pi)
constexpr float kCubic = 0.044715F;

HWY_INLINE Vec sigmoid(Vec x) {
    const Vec one = hn::Set(Tag(), 1.0F);
    // Beyond this, exp(-x) is infinite for Highway's Exp too, and the quotient is 0.
    const Vec clamped = hn::Max(x, hn::Set(Tag(), -87.0F));
    return hn::Div(one, hn::Add(one, hn::Exp(Tag(), hn::Neg(clamped))));
}

template <typename T>
void gelu_rows(const T* x, std::int64_t x_stride, const float* bias, T* y, std::int64_t y_stride,
               std::int64_t rows, std::int64_t columns) {
    const std::int64_t n = lanes();
    for (std::int64_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            Vec z = load(x + c, left);
            if (bias != nullptr) z = hn::Add(z, load(bias + c, left));
            const Vec inner =
                hn::Mul(z, hn::MulAdd(hn::Set(Tag(), kTwoC * kCubic), hn::Mul(z, z), hn::Set(Tag(), kTwoC)));
            store(hn::Mul(z, sigmoid(inner)), y + c, left);
        }
    }
}

template <typename T>
void gelu_backward_rows(const T* dy, std::int64_t dy_stride, const T* x, std::int64_t x_stride,
                        const float* bias, T* dx, std::int64_t dx_stride, float* dbias, std::int64_t rows,
                        std::int64_t columns) {
    const std::int64_t n = lanes();
    const Vec one = hn::Set(Tag(), 1.0F);
    for (std::int64_t r = 0; r < rows; ++r, dy += dy_stride, x += x_stride, dx += dx_stride) {
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            Vec z = load(x + c, left);
            if (bias != nullptr) z = hn::Add(z, load(bias + c, left));
            const Vec square = hn::Mul(z, z);
            const Vec s = sigmoid(
                hn::Mul(z, hn::MulAdd(hn::Set(Tag(), kTwoC * kCubic), square, hn::Set(Tag(), kTwoC))));
            const Vec slope =
                hn::MulAdd(hn::Set(Tag(), 3.0F * kTwoC * kCubic), square, hn::Set(Tag(), kTwoC));
            const Vec derivative = hn::MulAdd(hn::Mul(z, slope), hn::Mul(s, hn::Sub(one, s)), s);
            const Vec d = hn::Mul(load(dy + c, left), derivative);
            store(d, dx + c, left);
            if (dbias != nullptr) store(hn::Add(d, load(dbias + c, left)), dbias + c, left);
        }
    }
}

template <typename T>
void swiglu_rows(const T* gate_up, std::int64_t in_stride, T* y, std::int64_t y_stride, std::int64_t rows,
                 std::int64_t columns) {
    const std::int64_t n = lanes();
    for (std::int64_t r = 0; r < rows; ++r, gate_up += in_stride, y += y_stride) {
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            const Vec g = load(gate_up + c, left);
            store(hn::Mul(hn::Mul(g, sigmoid(g)), load(gate_up + columns + c, left)), y + c, left);
        }
    }
}

template <typename T>
void swiglu_backward_rows(const T* dy, std::int64_t dy_stride, const T* gate_up, std::int64_t in_stride,
                          T* d_gate_up, std::int64_t d_stride, std::int64_t rows, std::int64_t columns) {
    const std::int64_t n = lanes();
    const Vec one = hn::Set(Tag(), 1.0F);
    for (std::int64_t r = 0; r < rows; ++r, dy += dy_stride, gate_up += in_stride, d_gate_up += d_stride) {
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            const Vec d = load(dy + c, left);
            const Vec g = load(gate_up + c, left);
            const Vec u = load(gate_up + columns + c, left);
            const Vec s = sigmoid(g);
            const Vec derivative = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
            store(hn::Mul(hn::Mul(d, u), derivative), d_gate_up + c, left);
            store(hn::Mul(d, hn::Mul(g, s)), d_gate_up + columns + c, left);
        }
    }
}

#define LONGHAUL_ACTIVATION_TARGET(SUFFIX, T)                                                               \
    void gelu_##SUFFIX(const T* x, std::int64_t xs, const float* b, T* y, std::int64_t ys,                  \
                       std::int64_t rows, std::int64_t columns) {                                           \
        gelu_rows(x, xs, b, y, ys, rows, columns);                                                          \
    }                                                                                                       \
    void gelu_backward_##SUFFIX(const T* dy, std::int64_t dys, const T* x, std::int64_t xs, const float* b, \
                                T* dx, std::int64_t dxs, float* db, std::int64_t rows,                      \
                                std::int64_t columns) {                                                     \
        gelu_backward_rows(dy, dys, x, xs, b, dx, dxs, db, rows, columns);                                  \
    }                                                                                                       \
    void swiglu_##SUFFIX(const T* gu, std::int64_t gus, T* y, std::int64_t ys, std::int64_t rows,           \
                         std::int64_t columns) {                                                            \
        swiglu_rows(gu, gus, y, ys, rows, columns);                                                         \
    }                                                                                                       \
    void swiglu_backward_##SUFFIX(const T* dy, std::int64_t dys, const T* gu, std::int64_t gus, T* d,       \
                                  std::int64_t ds, std::int64_t rows, std::int64_t columns) {               \
        swiglu_backward_rows(dy, dys, gu, gus, d, ds, rows, columns);                                       \
    }
LONGHAUL_ACTIVATION_TARGET(f32, float)
LONGHAUL_ACTIVATION_TARGET(bf16, bf16)
#undef LONGHAUL_ACTIVATION_TARGET

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(gelu_f32);
HWY_EXPORT(gelu_bf16);
HWY_EXPORT(gelu_backward_f32);
HWY_EXPORT(gelu_backward_bf16);
HWY_EXPORT(swiglu_f32);
HWY_EXPORT(swiglu_bf16);
HWY_EXPORT(swiglu_backward_f32);
HWY_EXPORT(swiglu_backward_bf16);

namespace {

template <typename T, typename Rows>
void gelu(const Rows& rows_of, ConstTensorView x, ConstTensorView bias, TensorView y) {
    each_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        rows_of(x.as<T>() + first * x.row_stride, x.row_stride, bias ? bias.as<float>() : nullptr,
                y.as<T>() + first * y.row_stride, y.row_stride, count, x.columns());
    });
}

template <typename T, typename Rows>
void gelu_backward(const Rows& rows_of, ConstTensorView dy, ConstTensorView x, ConstTensorView bias,
                   TensorView dx, TensorView dbias) {
    ColumnSums sums(x.rows(), x.columns(), static_cast<bool>(dbias));
    each_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t task) {
        rows_of(dy.as<T>() + first * dy.row_stride, dy.row_stride, x.as<T>() + first * x.row_stride,
                x.row_stride, bias ? bias.as<float>() : nullptr, dx.as<T>() + first * dx.row_stride,
                dx.row_stride, sums.of_task(task), count, x.columns());
    });
    if (dbias) sums.add_to(dbias.as<float>());
}

template <typename T, typename Rows>
void swiglu(const Rows& rows_of, ConstTensorView gate_up, TensorView y) {
    each_rows(y.rows(), y.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        rows_of(gate_up.as<T>() + first * gate_up.row_stride, gate_up.row_stride,
                y.as<T>() + first * y.row_stride, y.row_stride, count, y.columns());
    });
}

template <typename T, typename Rows>
void swiglu_backward(const Rows& rows_of, ConstTensorView dy, ConstTensorView gate_up, TensorView d) {
    each_rows(dy.rows(), dy.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        rows_of(dy.as<T>() + first * dy.row_stride, dy.row_stride,
                gate_up.as<T>() + first * gate_up.row_stride, gate_up.row_stride,
                d.as<T>() + first * d.row_stride, d.row_stride, count, dy.columns());
    });
}

}  // namespace

bool bias_gelu_forward(const Device& device, ConstTensorView x, ConstTensorView bias, TensorView y) {
    if (x.dtype == DType::f32) {
        gelu<float>(LONGHAUL_DISPATCH(device, gelu_f32), x, bias, y);
    } else {
        gelu<bf16>(LONGHAUL_DISPATCH(device, gelu_bf16), x, bias, y);
    }
    return true;
}

bool bias_gelu_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView bias,
                        TensorView dx, TensorView dbias) {
    if (x.dtype == DType::f32) {
        gelu_backward<float>(LONGHAUL_DISPATCH(device, gelu_backward_f32), dy, x, bias, dx, dbias);
    } else {
        gelu_backward<bf16>(LONGHAUL_DISPATCH(device, gelu_backward_bf16), dy, x, bias, dx, dbias);
    }
    return true;
}

bool swiglu_forward(const Device& device, ConstTensorView gate_up, TensorView y) {
    if (y.dtype == DType::f32) {
        swiglu<float>(LONGHAUL_DISPATCH(device, swiglu_f32), gate_up, y);
    } else {
        swiglu<bf16>(LONGHAUL_DISPATCH(device, swiglu_bf16), gate_up, y);
    }
    return true;
}

bool swiglu_backward(const Device& device, ConstTensorView dy, ConstTensorView gate_up,
                     TensorView d_gate_up) {
    if (dy.dtype == DType::f32) {
        swiglu_backward<float>(LONGHAUL_DISPATCH(device, swiglu_backward_f32), dy, gate_up, d_gate_up);
    } else {
        swiglu_backward<bf16>(LONGHAUL_DISPATCH(device, swiglu_backward_bf16), dy, gate_up, d_gate_up);
    }
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
