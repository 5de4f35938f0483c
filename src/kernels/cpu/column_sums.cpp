// Column sums: blocks of columns in parallel, each over all rows in order, in double.
#include "kernels/cpu/column_sums.h"

#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/column_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/checked.h"
#include "base/parallel_for.h"
#include "kernels/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using F32 = hn::Rebind<float, F64>;  // as many lanes as F64

HWY_INLINE hn::Vec<F64> widened(const float* p) {
    return hn::PromoteTo(F64(), hn::LoadU(F32(), p));
}

HWY_INLINE hn::Vec<F64> widened(const bf16* p) {
    const hn::Rebind<std::uint16_t, F64> d16;
    const hn::RebindToUnsigned<F32> d32;
    const auto words = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(p)));
    return hn::PromoteTo(F64(), hn::BitCast(F32(), hn::ShiftLeft<16>(words)));
}

// Four vectors side by side: as many independent sums hide the latency of the additions.
template <typename T>
void sum_columns(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t stride, float* sums) {
    const F64 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t step = 4 * lanes;
    HWY_ALIGN double totals[4 * hn::MaxLanes(F64())];
    std::int64_t i = 0;
    for (; i + step <= columns; i += step) {
        auto s0 = hn::Zero(d);
        auto s1 = s0;
        auto s2 = s0;
        auto s3 = s0;
        for (std::int64_t r = 0; r < rows; ++r) {
            const T* row = x + r * stride + i;
            s0 = hn::Add(s0, widened(row));
            s1 = hn::Add(s1, widened(row + lanes));
            s2 = hn::Add(s2, widened(row + 2 * lanes));
            s3 = hn::Add(s3, widened(row + 3 * lanes));
        }
        hn::Store(s0, d, totals);
        hn::Store(s1, d, totals + lanes);
        hn::Store(s2, d, totals + 2 * lanes);
        hn::Store(s3, d, totals + 3 * lanes);
        for (std::int64_t l = 0; l < step; ++l) {
            sums[i + l] = static_cast<float>(static_cast<double>(sums[i + l]) + totals[l]);
        }
    }
    for (; i < columns; ++i) {
        double total = 0;
        for (std::int64_t r = 0; r < rows; ++r)
            total += static_cast<double>(static_cast<float>(x[r * stride + i]));
        sums[i] = static_cast<float>(static_cast<double>(sums[i]) + total);
    }
}

void sum_columns_f32(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                     float* sums) {
    sum_columns(x, rows, columns, stride, sums);
}

void sum_columns_bf16(const bf16* x, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                      float* sums) {
    sum_columns(x, rows, columns, stride, sums);
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 128;

HWY_EXPORT(sum_columns_f32);
HWY_EXPORT(sum_columns_bf16);

template <typename Function, typename T>
void run(Function* kernel, const T* x, const ConstTensorView& view, float* sums) {
    parallel_for(div_ceil(view.columns(), kBlock), [&](std::int64_t block) {
        const std::int64_t first = block * kBlock;
        kernel(x + first, view.rows(), std::min(kBlock, view.columns() - first), view.row_stride,
               sums + first);
    });
}

}  // namespace

void add_column_sums(const Device& device, ConstTensorView x, float* sums) {
    if (x.dtype == DType::bf16) {
        run(choose(HWY_DISPATCH_TABLE(sum_columns_bf16), device), x.as<bf16>(), x, sums);
    } else {
        run(choose(HWY_DISPATCH_TABLE(sum_columns_f32), device), x.as<float>(), x, sums);
    }
}

}  // namespace longhaul::kernels::cpu
#endif  // HWY_ONCE
