// Rotary positions: the two halves of each head's rotated columns, vector by vector.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rope.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

// (a, b) -> (a cos - b sin, b cos + a sin) for the two halves, [half] each, of a row's heads. `angles` holds
// [half] cosines, then [half] sines.
template <typename T>
void rotate_row(T* row, std::int64_t columns, std::int64_t head_dim, const float* angles, std::int64_t half,
                float sign) {
    const std::int64_t n = lanes();
    const Vec turn = hn::Set(Tag(), sign);
    for (std::int64_t head = 0; head < columns; head += head_dim) {
        for (std::int64_t i = 0; i < half; i += n) {
            const std::int64_t count = half - i;
            T* low = row + head + i;
            T* high = low + half;
            const Vec a = load(low, count);
            const Vec b = load(high, count);
            const Vec cosine = load(angles + i, count);
            const Vec sine = hn::Mul(turn, load(angles + half + i, count));
            store(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), low, count);
            store(hn::MulAdd(a, sine, hn::Mul(b, cosine)), high, count);
        }
    }
}
void rotate_row_f32(float* row, std::int64_t columns, std::int64_t head_dim, const float* angles,
                    std::int64_t half, float sign) {
    rotate_row(row, columns, head_dim, angles, half, sign);
}
void rotate_row_bf16(bf16* row, std::int64_t columns, std::int64_t head_dim, const float* angles,
                     std::int64_t half, float sign) {
    rotate_row(row, columns, head_dim, angles, half, sign);
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(rotate_row_f32);
HWY_EXPORT(rotate_row_bf16);

bool rope(const Device& device, ConstTensorView table, std::int64_t head_dim, std::int64_t sequence,
          std::int64_t first_position, bool inverse, TensorView x) {
    const std::int64_t half = table.columns() / 2;
    const float sign = inverse ? -1.0F : 1.0F;
    each_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        for (std::int64_t r = first; r < first + count; ++r) {
            const float* angles = table.as<float>() + (first_position + r % sequence) * table.row_stride;
            if (x.dtype == DType::f32) {
                LONGHAUL_DISPATCH(device, rotate_row_f32)
                (x.as<float>() + r * x.row_stride, x.columns(), head_dim, angles, half, sign);
            } else {
                LONGHAUL_DISPATCH(device, rotate_row_bf16)
                (x.as<bf16>() + r * x.row_stride, x.columns(), head_dim, angles, half, sign);
            }
        }
    });
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
