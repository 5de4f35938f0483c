// Philox against the published known answers; distributions; independence of streams.
#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace longhaul {

TEST(Philox, KnownAnswers) {
    EXPECT_EQ(philox(0, 0, 0), (Philox4{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
    EXPECT_EQ(philox(~0ULL, ~0ULL, ~0ULL), (Philox4{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
    EXPECT_EQ(philox(0x299f31d0a4093822ULL, 0x85a308d3243f6a88ULL, 0x0370734413198a2eULL),
              (Philox4{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(Random, NormalHasUnitMoments) {
    const std::uint64_t key = stream_key(7, "init", "w");
    double sum = 0;
    double squares = 0;
    constexpr int n = 200000;
    for (int i = 0; i < n; ++i) {
        const double x = normal_at(key, static_cast<std::uint64_t>(i));
        ASSERT_TRUE(std::isfinite(x));
        sum += x;
        squares += x * x;
    }
    EXPECT_NEAR(sum / n, 0.0, 0.01);
    EXPECT_NEAR(squares / n, 1.0, 0.02);
}

TEST(Random, StreamsDifferByEveryPart) {
    const auto key = stream_key(1, "init", "w");
    EXPECT_NE(key, stream_key(2, "init", "w"));
    EXPECT_NE(key, stream_key(1, "drop", "w"));
    EXPECT_NE(key, stream_key(1, "init", "v"));
}

}  // namespace longhaul
