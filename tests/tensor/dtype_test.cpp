// Element types: sizes and names, and the roundings of bfloat16 and half precision against plain definitions.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace longhaul {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(DType, SizesAndNames) {
    EXPECT_EQ(size_of(DType::f32), 4U);
    EXPECT_EQ(size_of(DType::bf16), 2U);
    EXPECT_EQ(size_of(DType::f16), 2U);
    EXPECT_EQ(size_of(DType::i32), 4U);
    EXPECT_EQ(size_of(DType::u16), 2U);
    EXPECT_EQ(size_of(DType::u8), 1U);
    EXPECT_EQ(name_of(DType::f32), "fp32");
    EXPECT_EQ(name_of(DType::bf16), "bf16");
    EXPECT_EQ(name_of(DType::f16), "fp16");
    EXPECT_EQ(name_of(DType::i32), "int32");
    EXPECT_EQ(name_of(DType::u16), "uint16");
    EXPECT_EQ(name_of(DType::u8), "uint8");
}

// The value of half bits by their definition, in double.
double half_by_definition(std::uint16_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    const int exponent = (bits >> 10U) & 0x1F;
    const int mantissa = bits & 0x3FF;
    if (exponent == 31) return mantissa == 0 ? sign * kInfinity : std::nan("");
    if (exponent == 0) return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Half, EveryValueIsReadAndWrittenBack) {
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const double expected = half_by_definition(half);
        const float value = half_to_float(half);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << bits;
        } else {
            ASSERT_EQ(static_cast<double>(value), expected) << bits;
            ASSERT_EQ(std::signbit(value), (bits & 0x8000U) != 0) << bits;
            ASSERT_EQ(float_to_half(value), half) << bits;
        }
    }
}

// Between two neighbours: the middle goes to the even one, all else to the nearer.
TEST(Half, RoundsToNearestEven) {
    for (std::uint32_t bits = 0; bits < 0x7BFFU; ++bits) {
        const auto low = static_cast<std::uint16_t>(bits);
        const auto high = static_cast<std::uint16_t>(bits + 1);
        const float middle = (half_to_float(low) + half_to_float(high)) / 2;
        ASSERT_EQ(float_to_half(middle), (bits & 1U) == 0 ? low : high) << bits;
        ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), low) << bits;
        ASSERT_EQ(float_to_half(std::nextafter(middle, kInfinity)), high) << bits;
    }
    EXPECT_EQ(float_to_half(65519.996F), 0x7BFF);
    EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
    EXPECT_EQ(float_to_half(-1e30F), 0xFC00);
    EXPECT_EQ(float_to_half(kInfinity), 0x7C00);
}

TEST(Bf16, RoundsToNearestEven) {
    for (std::uint32_t bits = 0; bits < 0x7F7FU; ++bits) {
        const auto low = std::bit_cast<float>(bits << 16U);
        const auto middle = std::bit_cast<float>((bits << 16U) | 0x8000U);
        ASSERT_EQ(bf16(low).bits, bits);
        ASSERT_EQ(bf16(middle).bits, (bits & 1U) == 0 ? bits : bits + 1);
        ASSERT_EQ(bf16(std::nextafter(middle, 0.0F)).bits, bits);
        ASSERT_EQ(bf16(std::nextafter(middle, kInfinity)).bits, bits + 1);
        ASSERT_EQ(bf16(-middle).bits, bf16(middle).bits | 0x8000U);
        ASSERT_EQ(static_cast<float>(bf16(low)), low);
    }
    EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
    EXPECT_EQ(bf16(kInfinity).bits, 0x7F80);
}

TEST(Bf16, NanStaysNan) {
    for (const std::uint32_t bits : {0x7F800001U, 0xFF800001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0x7FC00000U}) {
        EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::bit_cast<float>(bits))))) << std::hex << bits;
    }
}

}  // namespace
}  // namespace longhaul
