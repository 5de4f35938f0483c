// Vectors of fp32 from and to memory of either compute type, for all files that are compiled once for each
// instruction set. No include guard of the usual kind: Highway includes it again for each target.
#if defined(LONGHAUL_KERNELS_CPU_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LONGHAUL_KERNELS_CPU_VECTOR_INL_H
#undef LONGHAUL_KERNELS_CPU_VECTOR_INL_H
#else
#define LONGHAUL_KERNELS_CPU_VECTOR_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;
using Tag16 = hn::Rebind<std::uint16_t, Tag>;
using Tag32 = hn::Rebind<std::uint32_t, Tag>;
using TagD = hn::ScalableTag<double>;
using VecD = hn::Vec<TagD>;

// Elements of a vector.
HWY_INLINE std::int64_t lanes() {
    return static_cast<std::int64_t>(hn::Lanes(Tag()));
}
constexpr std::int64_t kMaxLanes = HWY_LANES(float);

HWY_INLINE Vec load(const float* p) {
    return hn::LoadU(Tag(), p);
}
HWY_INLINE Vec load(const bf16* p) {
    const auto words = hn::PromoteTo(Tag32(), hn::LoadU(Tag16(), reinterpret_cast<const std::uint16_t*>(p)));
    return hn::BitCast(Tag(), hn::ShiftLeft<16>(words));
}
HWY_INLINE void store(Vec v, float* p) {
    hn::StoreU(v, Tag(), p);
}
// Rounds to nearest even as longhaul::bf16 does; NaN stays NaN.
HWY_INLINE void store(Vec v, bf16* p) {
    const Tag32 d;
    const auto word = hn::BitCast(d, v);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(d, 1U));
    const auto rounded = hn::ShiftRight<16>(hn::Add(word, hn::Add(odd, hn::Set(d, 0x7FFFU))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(word), hn::Set(d, 0x40U));
    const auto not_a_number = hn::Gt(hn::And(word, hn::Set(d, 0x7FFFFFFFU)), hn::Set(d, 0x7F800000U));
    const auto bits = hn::IfThenElse(not_a_number, quiet, rounded);
    hn::StoreU(hn::TruncateTo(Tag16(), bits), Tag16(), reinterpret_cast<std::uint16_t*>(p));
}

// The same for the last, shorter piece of a row: `count` elements, zeros behind them.
template <typename T>
HWY_INLINE Vec load(const T* p, std::int64_t count) {
    if (count >= lanes()) return load(p);
    T piece[kMaxLanes] = {};
    std::memcpy(piece, p, static_cast<std::size_t>(count) * sizeof(T));
    return load(piece);
}
template <typename T>
HWY_INLINE void store(Vec v, T* p, std::int64_t count) {
    if (count >= lanes()) return store(v, p);
    T piece[kMaxLanes];
    store(v, piece);
    std::memcpy(p, piece, static_cast<std::size_t>(count) * sizeof(T));
}

// Zeros the lanes from `count` on, for sums over a short piece.
HWY_INLINE Vec keep_first(Vec v, std::int64_t count) {
    if (count >= lanes()) return v;
    return hn::IfThenElseZero(hn::FirstN(Tag(), static_cast<std::size_t>(count)), v);
}

HWY_INLINE float sum_of(Vec v) {
    return hn::GetLane(hn::SumOfLanes(Tag(), v));
}

// A sum of squares of fp32 values kept in double lanes.
#if HWY_TARGET == HWY_SCALAR
struct DoubleSum {
    double sum = 0;
    HWY_INLINE void add_square(Vec v) {
        const double value = hn::GetLane(v);
        sum += value * value;
    }
    HWY_INLINE double total() const { return sum; }
};
#else
struct DoubleSum {
    VecD low, high;
    // Written out: the compiler's own constructor would lack the target's attributes.
    HWY_INLINE DoubleSum() : low(hn::Zero(TagD())), high(hn::Zero(TagD())) {}
    HWY_INLINE void add_square(Vec v) {
        const hn::Half<Tag> half;
        const VecD a = hn::PromoteTo(TagD(), hn::LowerHalf(half, v));
        const VecD b = hn::PromoteTo(TagD(), hn::UpperHalf(half, v));
        low = hn::MulAdd(a, a, low);
        high = hn::MulAdd(b, b, high);
    }
    HWY_INLINE double total() const { return hn::GetLane(hn::SumOfLanes(TagD(), hn::Add(low, high))); }
};
#endif

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
