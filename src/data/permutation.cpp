// The Feistel network.
#include "data/permutation.h"

#include <bit>

#include "base/error.h"
#include "base/random.h"

namespace longhaul::data {

namespace {

// A bijective mixer in which every input bit reaches every output bit (the finaliser of MurmurHash3).
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 33U)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33U)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33U);
}

}  // namespace

Permutation::Permutation(std::int64_t n, std::uint64_t key) : n_(n) {
    require(n >= 1 && n <= std::int64_t{1} << 62U, ErrorCode::internal, "a permutation of {} values", n);
    const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
    half_bits_ = (bits + 1) / 2;
    for (std::size_t r = 0; r < kRounds; r += 2) {
        const Philox4 words = philox(key, r, 0);
        round_keys_[r] = (static_cast<std::uint64_t>(words[0]) << 32U) | words[1];
        round_keys_[r + 1] = (static_cast<std::uint64_t>(words[2]) << 32U) | words[3];
    }
}

std::int64_t Permutation::operator()(std::int64_t i) const {
    if (n_ == 1) return 0;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    auto value = static_cast<std::uint64_t>(i);
    do {
        std::uint64_t left = value >> half_bits_;
        std::uint64_t right = value & mask;
        for (const std::uint64_t key : round_keys_) {
            const std::uint64_t next = left ^ (mix(right ^ key) & mask);
            left = right;
            right = next;
        }
        value = (left << half_bits_) | right;
    } while (value >= static_cast<std::uint64_t>(n_));
    return static_cast<std::int64_t>(value);
}

}  // namespace longhaul::data
