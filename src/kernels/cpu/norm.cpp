// LayerNorm and RMSNorm: a row at a time in registers and L1, weight gradients as sums of columns.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

// Both norms in one: RMSNorm is LayerNorm with mean 0 and no bias.
template <typename T, bool kCentered>
void forward_rows(const T* x, std::int64_t x_stride, const float* weight, const float* bias, float eps, T* y,
                  std::int64_t y_stride, float* mean, float* rstd, std::int64_t rows, std::int64_t columns) {
    const std::int64_t n = lanes();
    const float scale = 1.0F / static_cast<float>(columns);
    for (std::int64_t r = 0; r < rows; ++r, x += x_stride, y += y_stride) {
        float center = 0;
        if constexpr (kCentered) {
            Vec sum = hn::Zero(Tag());
            for (std::int64_t c = 0; c < columns; c += n) sum = hn::Add(sum, load(x + c, columns - c));
            center = sum_of(sum) * scale;
            mean[r] = center;
        }
        const Vec centers = hn::Set(Tag(), center);
        Vec squares = hn::Zero(Tag());
        for (std::int64_t c = 0; c < columns; c += n) {
            const Vec d = keep_first(hn::Sub(load(x + c, columns - c), centers), columns - c);
            squares = hn::MulAdd(d, d, squares);
        }
        const float inverse = 1.0F / std::sqrt(sum_of(squares) * scale + eps);
        rstd[r] = inverse;
        const Vec inverses = hn::Set(Tag(), inverse);
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            const Vec normed = hn::Mul(hn::Sub(load(x + c, left), centers), inverses);
            const Vec scaled = hn::Mul(normed, load(weight + c, left));
            store(bias == nullptr ? scaled : hn::Add(scaled, load(bias + c, left)), y + c, left);
        }
    }
}

template <typename T, bool kCentered>
void backward_rows(const T* dy, std::int64_t dy_stride, const T* x, std::int64_t x_stride,
                   const float* weight, const float* mean, const float* rstd, T* dx, std::int64_t dx_stride,
                   float* dweight, float* dbias, bool accumulate, std::int64_t rows, std::int64_t columns) {
    const std::int64_t n = lanes();
    const float scale = 1.0F / static_cast<float>(columns);
    for (std::int64_t r = 0; r < rows; ++r, dy += dy_stride, x += x_stride, dx += dx_stride) {
        const Vec centers = hn::Set(Tag(), kCentered ? mean[r] : 0.0F);
        const Vec inverses = hn::Set(Tag(), rstd[r]);
        Vec sum_g = hn::Zero(Tag());
        Vec sum_gn = hn::Zero(Tag());
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            const Vec d = load(dy + c, left);
            const Vec normed = hn::Mul(hn::Sub(load(x + c, left), centers), inverses);
            const Vec g = hn::Mul(d, load(weight + c, left));  // zero behind the end
            if constexpr (kCentered) sum_g = hn::Add(sum_g, g);
            sum_gn = hn::MulAdd(g, normed, sum_gn);
            store(hn::MulAdd(d, normed, load(dweight + c, left)), dweight + c, left);
            if (dbias != nullptr) store(hn::Add(d, load(dbias + c, left)), dbias + c, left);
        }
        const Vec mean_g = hn::Set(Tag(), kCentered ? sum_of(sum_g) * scale : 0.0F);
        const Vec mean_gn = hn::Set(Tag(), sum_of(sum_gn) * scale);
        for (std::int64_t c = 0; c < columns; c += n) {
            const std::int64_t left = columns - c;
            const Vec normed = hn::Mul(hn::Sub(load(x + c, left), centers), inverses);
            const Vec g = hn::Mul(load(dy + c, left), load(weight + c, left));
            const Vec inner = hn::NegMulAdd(normed, mean_gn, hn::Sub(g, mean_g));
            const Vec gradient = hn::Mul(inner, inverses);
            store(accumulate ? hn::Add(load(dx + c, left), gradient) : gradient, dx + c, left);
        }
    }
}

#define LONGHAUL_NORM_TARGET(NAME, T, CENTERED)                                                         \
    void NAME##_forward(const T* x, std::int64_t xs, const float* w, const float* b, float eps, T* y,   \
                        std::int64_t ys, float* m, float* r, std::int64_t rows, std::int64_t columns) { \
        forward_rows<T, CENTERED>(x, xs, w, b, eps, y, ys, m, r, rows, columns);                        \
    }                                                                                                   \
    void NAME##_backward(const T* dy, std::int64_t dys, const T* x, std::int64_t xs, const float* w,    \
                         const float* m, const float* r, T* dx, std::int64_t dxs, float* dw, float* db, \
                         bool acc, std::int64_t rows, std::int64_t columns) {                           \
        backward_rows<T, CENTERED>(dy, dys, x, xs, w, m, r, dx, dxs, dw, db, acc, rows, columns);       \
    }
// Highway's table of targets takes plain functions, not templates.
LONGHAUL_NORM_TARGET(layer_f32, float, true)
LONGHAUL_NORM_TARGET(layer_bf16, bf16, true)
LONGHAUL_NORM_TARGET(rms_f32, float, false)
LONGHAUL_NORM_TARGET(rms_bf16, bf16, false)
#undef LONGHAUL_NORM_TARGET

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(layer_f32_forward);
HWY_EXPORT(layer_f32_backward);
HWY_EXPORT(layer_bf16_forward);
HWY_EXPORT(layer_bf16_backward);
HWY_EXPORT(rms_f32_forward);
HWY_EXPORT(rms_f32_backward);
HWY_EXPORT(rms_bf16_forward);
HWY_EXPORT(rms_bf16_backward);

namespace {

const float* optional(ConstTensorView view) {
    return view ? view.as<float>() : nullptr;
}

template <typename T, typename Rows>
void forward(const Rows& rows_of, ConstTensorView x, ConstTensorView weight, ConstTensorView bias, float eps,
             TensorView y, TensorView mean, TensorView rstd) {
    each_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        rows_of(x.as<T>() + first * x.row_stride, x.row_stride, weight.as<float>(), optional(bias), eps,
                y.as<T>() + first * y.row_stride, y.row_stride, mean ? mean.as<float>() + first : nullptr,
                rstd.as<float>() + first, count, x.columns());
    });
}

template <typename T, typename Rows>
void backward(const Rows& rows_of, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
              ConstTensorView mean, ConstTensorView rstd, TensorView dx, TensorView dweight, TensorView dbias,
              Accumulate accumulate) {
    ColumnSums weights(x.rows(), x.columns(), true);
    ColumnSums biases(x.rows(), x.columns(), static_cast<bool>(dbias));
    each_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t task) {
        rows_of(dy.as<T>() + first * dy.row_stride, dy.row_stride, x.as<T>() + first * x.row_stride,
                x.row_stride, weight.as<float>(), mean ? mean.as<float>() + first : nullptr,
                rstd.as<float>() + first, dx.as<T>() + first * dx.row_stride, dx.row_stride,
                weights.of_task(task), biases.of_task(task), accumulate == Accumulate::yes, count,
                x.columns());
    });
    weights.add_to(dweight.as<float>());
    if (dbias) biases.add_to(dbias.as<float>());
}

}  // namespace

bool layernorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                       float eps, TensorView y, TensorView mean, TensorView rstd) {
    if (x.dtype == DType::f32) {
        forward<float>(LONGHAUL_DISPATCH(device, layer_f32_forward), x, weight, bias, eps, y, mean, rstd);
    } else {
        forward<bf16>(LONGHAUL_DISPATCH(device, layer_bf16_forward), x, weight, bias, eps, y, mean, rstd);
    }
    return true;
}

bool layernorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                        ConstTensorView mean, ConstTensorView rstd, TensorView dx, TensorView dweight,
                        TensorView dbias, Accumulate accumulate) {
    if (x.dtype == DType::f32) {
        backward<float>(LONGHAUL_DISPATCH(device, layer_f32_backward), dy, x, weight, mean, rstd, dx, dweight,
                        dbias, accumulate);
    } else {
        backward<bf16>(LONGHAUL_DISPATCH(device, layer_bf16_backward), dy, x, weight, mean, rstd, dx, dweight,
                       dbias, accumulate);
    }
    return true;
}

bool rmsnorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, float eps, TensorView y,
                     TensorView rstd) {
    if (x.dtype == DType::f32) {
        forward<float>(LONGHAUL_DISPATCH(device, rms_f32_forward), x, weight, {}, eps, y, {}, rstd);
    } else {
        forward<bf16>(LONGHAUL_DISPATCH(device, rms_bf16_forward), x, weight, {}, eps, y, {}, rstd);
    }
    return true;
}

bool rmsnorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                      ConstTensorView rstd, TensorView dx, TensorView dweight, Accumulate accumulate) {
    if (x.dtype == DType::f32) {
        backward<float>(LONGHAUL_DISPATCH(device, rms_f32_backward), dy, x, weight, {}, rstd, dx, dweight, {},
                        accumulate);
    } else {
        backward<bf16>(LONGHAUL_DISPATCH(device, rms_bf16_backward), dy, x, weight, {}, rstd, dx, dweight, {},
                       accumulate);
    }
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
