// Exact division, narrowing and rounding: what is lossless passes, all else is an internal error that shows
// the numbers.
#include "base/checked.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

namespace longhaul {
namespace {

template <typename Body>
void expect_internal(Body body, const std::string& part) {
    try {
        body();
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::internal);
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

TEST(Checked, DivExactDividesOrShowsBothNumbers) {
    EXPECT_EQ(div_exact(12, 4), 3);
    EXPECT_EQ(div_exact<std::int64_t>(0, 7), 0);
    EXPECT_EQ(div_exact(-12, 4), -3);
    expect_internal([] { (void)div_exact(13, 4); }, "13 is not divisible by 4");
    expect_internal([] { (void)div_exact(13, 0); }, "13 is not divisible by 0");
}

TEST(Checked, NarrowKeepsTheValueAtTheEdges) {
    EXPECT_EQ(narrow<std::uint8_t>(255), 255);
    EXPECT_EQ(narrow<std::int8_t>(-128), -128);
    EXPECT_EQ(narrow<std::int32_t>(std::int64_t{2147483647}), 2147483647);
    EXPECT_EQ(narrow<std::size_t>(std::numeric_limits<std::int64_t>::max()), 9223372036854775807ULL);
}

TEST(Checked, NarrowRefusesWhatDoesNotFit) {
    expect_internal([] { (void)narrow<std::uint8_t>(256); }, "256");
    expect_internal([] { (void)narrow<std::int32_t>(std::int64_t{2147483648}); }, "2147483648");
    expect_internal([] { (void)narrow<std::size_t>(-1); }, "-1");
    expect_internal([] { (void)narrow<std::int64_t>(std::numeric_limits<std::uint64_t>::max()); },
                    "18446744073709551615");
}

TEST(Checked, RoundingUp) {
    EXPECT_EQ(div_ceil(10, 5), 2);
    EXPECT_EQ(div_ceil(11, 5), 3);
    EXPECT_EQ(div_ceil(0, 5), 0);
    EXPECT_EQ(round_up(11, 5), 15);
    EXPECT_EQ(round_up(15, 5), 15);
    EXPECT_EQ(round_up(0, 64), 0);
}

TEST(Checked, EqualPieces) {
    EXPECT_EQ(equal_piece(1024, 656, 16), 512);
    EXPECT_EQ(equal_piece(50257, 3200, 16), 3152);
    EXPECT_EQ(equal_piece(656, 656, 16), 656);
    EXPECT_EQ(equal_piece(657, 656, 16), 336);
    EXPECT_EQ(equal_piece(1, 640, 16), 16);
}

TEST(Checked, NearestDivisorEqualsTryingAll) {
    for (std::int64_t n = 1; n <= 60; ++n) {
        for (std::int64_t wanted = 1; wanted <= 70; ++wanted) {
            std::int64_t best = 1;
            for (std::int64_t d = 1; d <= n; ++d) {
                if (n % d == 0 && std::abs(d - wanted) < std::abs(best - wanted)) best = d;
            }
            ASSERT_EQ(nearest_divisor(n, wanted), best) << n << " " << wanted;
        }
    }
}

}  // namespace
}  // namespace longhaul
