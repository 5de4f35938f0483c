// Element types and bfloat16 arithmetic helpers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longhaul {

enum class DType : std::uint8_t { f32, bf16, f16, i32, u16, u8 };

[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
        case DType::i32:
            return 4;
        case DType::bf16:
        case DType::f16:
        case DType::u16:
            return 2;
        case DType::u8:
            return 1;
    }
    return 0;
}

// "fp32", "bf16", ...: the names that configurations and messages use.
[[nodiscard]] std::string_view name_of(DType dtype);

// bfloat16: the upper half of an IEEE single. Conversion from float rounds to nearest even; NaN stays NaN.
struct bf16 {
    std::uint16_t bits = 0;

    bf16() = default;
    explicit constexpr bf16(float value) : bits(round(value)) {}
    explicit constexpr operator float() const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
    }

private:
    static constexpr std::uint16_t round(float value) {
        const auto word = std::bit_cast<std::uint32_t>(value);
        if ((word & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((word >> 16U) | 0x40U);
        return static_cast<std::uint16_t>((word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U);
    }
};
static_assert(sizeof(bf16) == 2);

// IEEE half precision to float and back (round to nearest even); only files hold it.
[[nodiscard]] float half_to_float(std::uint16_t half);
[[nodiscard]] std::uint16_t float_to_half(float value);

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
    static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
    static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<std::int32_t> {
    static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint16_t> {
    static constexpr DType value = DType::u16;
};

}  // namespace longhaul
