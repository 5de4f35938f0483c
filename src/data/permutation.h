// A keyed bijection of [0, n): the shuffled order of an epoch, computed instead of stored.
#pragma once

#include <array>
#include <cstdint>

namespace longhaul::data {

// A balanced Feistel network over the next power of four, with cycle walking: values that fall outside [0, n)
// are mapped again until they don't (at most four times on average). Different keys give unrelated orders.
// Feistel networks and cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA
// 2002.
class Permutation {
public:
    // 1 <= n <= 2^62.
    Permutation(std::int64_t n, std::uint64_t key);

    // The value at position i, 0 <= i < n.
    [[nodiscard]] std::int64_t operator()(std::int64_t i) const;

private:
    static constexpr int kRounds = 8;
    std::int64_t n_;
    unsigned half_bits_;
    std::array<std::uint64_t, kRounds> round_keys_;
};

}  // namespace longhaul::data
