// The keyed bijection: a bijection at every size, even, and different for each key.
#include "data/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.h"

namespace longhaul::data {
namespace {

std::vector<std::int64_t> order(std::int64_t n, std::uint64_t key) {
    const Permutation permutation(n, key);
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < n; ++i) out.push_back(permutation(i));
    return out;
}

TEST(Permutation, IsABijection) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 16, 17, 1000, 4095, 4096, 4097, 65537, 1 << 20}) {
        for (const std::uint64_t key : {0ULL, 1ULL, 0xffffffffffffffffULL}) {
            if (n > 100000 && key == 0) continue;
            std::vector<bool> seen(static_cast<std::size_t>(n));
            for (const std::int64_t value : order(n, key)) {
                ASSERT_GE(value, 0);
                ASSERT_LT(value, n);
                ASSERT_FALSE(seen[static_cast<std::size_t>(value)])
                    << "n " << n << " key " << key << " twice " << value;
                seen[static_cast<std::size_t>(value)] = true;
            }
        }
    }
}

TEST(Permutation, WorksNearTheLargestSizes) {
    for (const std::int64_t n : {(std::int64_t{1} << 40U) + 1, std::int64_t{1} << 62U}) {
        const Permutation permutation(n, 5);
        std::vector<std::int64_t> values;
        for (std::int64_t i = 0; i < 1000; ++i) values.push_back(permutation(i));
        std::ranges::sort(values);
        EXPECT_GE(values.front(), 0);
        EXPECT_LT(values.back(), n);
        EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
    }
    EXPECT_THROW(Permutation(0, 1), Error);
}

TEST(Permutation, KeysGiveDifferentOrders) {
    std::int64_t equal = 0;
    const auto first = order(1000, 1);
    for (std::uint64_t key = 2; key < 102; ++key) {
        const auto other = order(1000, key);
        for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == other[i] ? 1 : 0;
    }
    // 100 pairs of random orders agree at 1 place each on average; 200 would be 10 standard deviations away.
    EXPECT_LT(equal, 200);
    EXPECT_GT(equal, 30);
}

// Every order of 4 values about equally often, and every value at every place of 7, over many keys.
TEST(Permutation, IsUniformOverKeys) {
    std::map<std::vector<std::int64_t>, int> orders;
    constexpr int kKeys = 24000;
    for (std::uint64_t key = 0; key < kKeys; ++key) ++orders[order(4, key)];
    EXPECT_EQ(orders.size(), 24U);
    double chi = 0;
    for (const auto& [_, count] : orders) chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_LT(chi, 60) << "23 degrees of freedom";

    std::array<std::array<int, 7>, 7> places{};
    for (std::uint64_t key = 0; key < 7000; ++key) {
        const auto values = order(7, key);
        for (std::size_t i = 0; i < 7; ++i) ++places[i][static_cast<std::size_t>(values[i])];
    }
    chi = 0;
    for (const auto& row : places)
        for (const int count : row) chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_LT(chi, 80) << "36 degrees of freedom";
}

TEST(Permutation, NeighboursAreUnrelated) {
    // Mean distance of neighbours in a random order is n / 3, and each has an equal chance to rise.
    constexpr std::int64_t n = 65537;
    const auto values = order(n, 77);
    double distance = 0;
    int rises = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
        distance += static_cast<double>(std::abs(values[i] - values[i - 1]));
        rises += values[i] > values[i - 1] ? 1 : 0;
    }
    EXPECT_NEAR(distance / static_cast<double>(n - 1), n / 3.0, n * 0.005);
    EXPECT_NEAR(rises, n / 2, 400);
}

TEST(Permutation, StaysWhatItWas) {
    // Runs that are resumed by a newer program must see the same order.
    EXPECT_EQ(order(8, 42), (std::vector<std::int64_t>{4, 5, 3, 1, 7, 0, 6, 2}));
}

}  // namespace
}  // namespace longhaul::data
