// Names of element types; half precision by bit arithmetic.
#include "tensor/dtype.h"

namespace longhaul {

std::string_view name_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return "fp32";
        case DType::bf16:
            return "bf16";
        case DType::f16:
            return "fp16";
        case DType::i32:
            return "int32";
        case DType::u16:
            return "uint16";
        case DType::u8:
            return "uint8";
    }
    return "?";
}

float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    std::uint32_t exponent = (half >> 10U) & 0x1FU;
    std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
    if (exponent == 0) {
        if (mantissa == 0) return std::bit_cast<float>(sign);
        // Subnormal: shift the leading one up to the hidden bit.
        exponent = 113;
        while ((mantissa & 0x400U) == 0) {
            mantissa <<= 1U;
            --exponent;
        }
        mantissa &= 0x3FFU;
        return std::bit_cast<float>(sign | (exponent << 23U) | (mantissa << 13U));
    }
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
}

std::uint16_t float_to_half(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((word >> 16U) & 0x8000U);
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
    if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude < 0x33000001U) return sign;
    std::uint32_t exponent = magnitude >> 23U;
    std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
    std::uint32_t shift = 13;
    std::uint32_t base = 0;
    if (exponent < 113) {
        shift = 126 - exponent;
    } else {
        base = (exponent - 113) << 10U;
    }
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1U);
    const std::uint32_t rounded = kept + ((rest > half || (rest == half && (kept & 1U))) ? 1U : 0U);
    return static_cast<std::uint16_t>(sign | (base + rounded));
}

}  // namespace longhaul
