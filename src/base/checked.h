// Integer arithmetic that refuses to lose information: exact division and narrowing.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "base/error.h"

namespace longhaul {

// a / b where b divides a; otherwise an internal error that shows both.
template <std::integral T>
[[nodiscard]] constexpr T div_exact(T a, T b) {
    require(b != 0 && a % b == 0, ErrorCode::internal, "{} is not divisible by {}", a, b);
    return a / b;
}

// The value as To; an internal error if To can't hold it.
template <std::integral To, std::integral From>
[[nodiscard]] constexpr To narrow(From value) {
    require(std::in_range<To>(value), ErrorCode::internal, "{} does not fit the integer type it is stored in",
            value);
    return static_cast<To>(value);
}

template <std::integral T>
[[nodiscard]] constexpr T div_ceil(T a, T b) {
    return (a + b - 1) / b;
}

template <std::integral T>
[[nodiscard]] constexpr T round_up(T a, T multiple) {
    return div_ceil(a, multiple) * multiple;
}

// The length of the fewest equal pieces of `extent` that are at most `most` long, in whole multiples; `most`
// is one. The last piece is what is left. All positive.
template <std::integral T>
[[nodiscard]] constexpr T equal_piece(T extent, T most, T multiple) {
    return round_up(div_ceil(extent, div_ceil(extent, most)), multiple);
}

// The divisor of n that is nearest to `wanted`, the smaller of two; both at least 1.
[[nodiscard]] constexpr std::int64_t nearest_divisor(std::int64_t n, std::int64_t wanted) {
    if (wanted >= n) return n;
    std::int64_t off = 0;
    while (n % (wanted - off) != 0 && n % (wanted + off) != 0) ++off;  // ends at 1 or at n
    return n % (wanted - off) == 0 ? wanted - off : wanted + off;
}

}  // namespace longhaul
