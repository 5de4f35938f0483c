// Sums of tensors, conversions, sums of squares.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

template <typename A, typename Out>
void add_piece(const A* a, const A* b, Out* out, std::int64_t count) {
    const std::int64_t n = lanes();
    for (std::int64_t i = 0; i < count; i += n)
        store(hn::Add(load(a + i, count - i), load(b + i, count - i)), out + i, count - i);
}
void add_f32(const float* a, const float* b, float* out, std::int64_t count) {
    add_piece(a, b, out, count);
}
void add_bf16(const bf16* a, const bf16* b, bf16* out, std::int64_t count) {
    add_piece(a, b, out, count);
}

void to_bf16(const float* from, bf16* to, std::int64_t count) {
    const std::int64_t n = lanes();
    for (std::int64_t i = 0; i < count; i += n) store(load(from + i, count - i), to + i, count - i);
}
void to_f32(const bf16* from, float* to, std::int64_t count) {
    const std::int64_t n = lanes();
    for (std::int64_t i = 0; i < count; i += n) store(load(from + i, count - i), to + i, count - i);
}

double squares(const float* x, std::int64_t count) {
    const std::int64_t n = lanes();
    DoubleSum sum;
    for (std::int64_t i = 0; i < count; i += n) sum.add_square(load(x + i, count - i));
    return sum.total();
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(add_f32);
HWY_EXPORT(add_bf16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(to_f32);
HWY_EXPORT(squares);

namespace {

// body(row's first element offset by view, count): dense views as one range in pieces, others row by row.
template <typename Body>
void each_range(ConstTensorView a, ConstTensorView b, ConstTensorView c, const Body& body) {
    if (a.dense() && b.dense() && c.dense()) {
        each_piece(a.count(),
                   [&](std::int64_t first, std::int64_t count) { body(first, first, first, count); });
        return;
    }
    each_rows(a.rows(), a.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        for (std::int64_t r = first; r < first + count; ++r)
            body(r * a.row_stride, r * b.row_stride, r * c.row_stride, a.columns());
    });
}

}  // namespace

bool add(const Device& device, ConstTensorView a, ConstTensorView b, TensorView out) {
    each_range(a, b, out, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_out, std::int64_t count) {
        if (a.dtype == DType::f32) {
            LONGHAUL_DISPATCH(device, add_f32)
            (a.as<float>() + at_a, b.as<float>() + at_b, out.as<float>() + at_out, count);
        } else {
            LONGHAUL_DISPATCH(device, add_bf16)
            (a.as<bf16>() + at_a, b.as<bf16>() + at_b, out.as<bf16>() + at_out, count);
        }
    });
    return true;
}

bool convert(const Device& device, ConstTensorView from, TensorView to) {
    each_range(from, to, to, [&](std::int64_t at_from, std::int64_t at_to, std::int64_t, std::int64_t count) {
        if (from.dtype == DType::f32 && to.dtype == DType::bf16) {
            LONGHAUL_DISPATCH(device, to_bf16)(from.as<float>() + at_from, to.as<bf16>() + at_to, count);
        } else if (from.dtype == DType::bf16 && to.dtype == DType::f32) {
            LONGHAUL_DISPATCH(device, to_f32)(from.as<bf16>() + at_from, to.as<float>() + at_to, count);
        } else {
            const auto size = static_cast<std::int64_t>(size_of(from.dtype));
            std::memmove(static_cast<std::byte*>(to.data) + at_to * size,
                         static_cast<const std::byte*>(from.data) + at_from * size,
                         static_cast<std::size_t>(count * size));
        }
    });
    return true;
}

bool sum_squares(const Device& device, std::span<const float> x, double& sum) {
    const std::int64_t total = std::ssize(x);
    std::vector<double> partial(static_cast<std::size_t>(div_ceil(total, kPiece)));
    each_piece(total, [&](std::int64_t first, std::int64_t count) {
        partial[static_cast<std::size_t>(first / kPiece)] =
            LONGHAUL_DISPATCH(device, squares)(x.data() + first, count);
    });
    sum = 0;
    for (const double part : partial) sum += part;
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
