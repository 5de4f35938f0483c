// Blends: exact proportions at every length, and each part's own samples in order without gap or repeat.
#include "data/blend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"

namespace longhaul::data {
namespace {

void check(const std::vector<double>& weights, std::int64_t samples) {
    const Blend blend(weights);
    long double total = 0;
    for (const double w : weights) total += static_cast<long double>(w);
    const double slack =
        weights.size() <= 2 ? 0.5 + 1e-9 : 1 + std::log2(static_cast<double>(weights.size()));
    std::vector<std::int64_t> next(weights.size());
    for (std::int64_t n = 0; n < samples; ++n) {
        const Blend::Place place = blend(n);
        auto& expected = next[static_cast<std::size_t>(place.part)];
        ASSERT_EQ(place.index, expected) << "sample " << n << " of part " << place.part;
        ++expected;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const long double share =
                static_cast<long double>(n + 1) * static_cast<long double>(weights[i]) / total;
            ASSERT_LE(std::abs(static_cast<double>(static_cast<long double>(next[i]) - share)), slack)
                << "after " << n + 1 << " samples, part " << i;
        }
    }
}

TEST(Blend, ProportionsAreExactAtEveryLength) {
    check({1}, 100);
    check({1, 1}, 1000);
    check({0.7, 0.3}, 20000);
    check({1, 2, 3}, 20000);
    check({0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 20000);
    check({5, 1e-3, 5}, 50000);  // a light part between two heavy ones
    check({1, 1e-9, 1, 1e-9, 1}, 20000);
    check({1e300, 1e300, 5e299}, 5000);
    check({1e-310, 1e-310}, 1000);
}

TEST(Blend, ExtremeWeights) {
    const Blend blend(std::vector<double>{1e-6, 1});
    std::int64_t light = 0;
    for (std::int64_t n = 0; n < 3000000; ++n) {
        const Blend::Place place = blend(n);
        ASSERT_EQ(place.index, place.part == 0 ? light : n - light);
        light += place.part == 0 ? 1 : 0;
    }
    EXPECT_EQ(light, 3);
    check({1e-6, 1}, 10000);
    const Blend absurd(std::vector<double>{1e-300, 1e300});
    EXPECT_EQ(absurd(123456789).part, 1);
    EXPECT_EQ(absurd(123456789).index, 123456789);
}

TEST(Blend, FarPositionsStayExact) {
    const Blend blend(std::vector<double>{1, 3});
    constexpr std::int64_t far = std::int64_t{1} << 50U;
    std::int64_t counts[2] = {0, 0};
    std::int64_t last[2] = {-1, -1};
    for (std::int64_t n = far; n < far + 4000; ++n) {
        const Blend::Place place = blend(n);
        if (last[place.part] >= 0) {
            ASSERT_EQ(place.index, last[place.part] + 1);
        }
        last[place.part] = place.index;
        ++counts[place.part];
    }
    EXPECT_EQ(counts[0], 1000);
    EXPECT_NEAR(static_cast<double>(last[0]), 0x1p48 + 1000, 2);
}

TEST(Blend, OnlyTheRatioCounts) {
    const Blend a(std::vector<double>{1, 2, 5});
    const Blend b(std::vector<double>{0.125, 0.25, 0.625});
    EXPECT_TRUE(std::ranges::equal(a.shares(), b.shares()));
    EXPECT_FALSE(std::ranges::equal(a.shares(), Blend(std::vector<double>{1, 2, 4}).shares()));
}

TEST(Blend, RefusesBadWeights) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {0.0, -1.0, nan, infinity, -0.0}) {
        EXPECT_THROW(Blend(std::vector<double>{1, bad}), Error) << bad;
        EXPECT_THROW(Blend(std::vector<double>{bad}), Error) << bad;
    }
    EXPECT_THROW(Blend(std::vector<double>{}), Error);
}

}  // namespace
}  // namespace longhaul::data
