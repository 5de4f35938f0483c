// The tree of two-way splits.
#include "data/blend.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace longhaul::data {

namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ needs a typedef

constexpr unsigned kShareBits = 62;
constexpr std::uint64_t kOne = std::uint64_t{1} << kShareBits;

std::int64_t middle_of(std::int64_t begin, std::int64_t end) {
    return begin + (end - begin) / 2;
}

// round(n * share): how many of a node's first n positions go to its left side.
std::int64_t left_count(std::int64_t n, std::uint64_t share) {
    return static_cast<std::int64_t>((static_cast<Wide>(n) * share + kOne / 2) >> kShareBits);
}

long double sum(std::span<const double> weights, std::int64_t begin, std::int64_t end) {
    long double total = 0;
    for (std::int64_t i = begin; i < end; ++i)
        total += static_cast<long double>(weights[static_cast<std::size_t>(i)]);
    return total;
}

}  // namespace

Blend::Blend(std::span<const double> weights) : shares_(weights.size(), kOne) {
    require(!weights.empty(), ErrorCode::bad_config, "a blend needs at least one data set");
    for (const double weight : weights)
        require(
            std::isfinite(weight) && weight > 0, ErrorCode::bad_config,
            "weight {} in a blend: weights are finite and greater than zero (leave out what has no share)",
            weight);
    split(0, parts(), weights);
}

void Blend::split(std::int64_t begin, std::int64_t end, std::span<const double> weights) {
    if (end - begin == 1) return;
    const std::int64_t middle = middle_of(begin, end);
    const long double share = sum(weights, begin, middle) / sum(weights, begin, end);
    const auto units = static_cast<std::uint64_t>(std::roundl(std::ldexp(share, kShareBits)));
    shares_[static_cast<std::size_t>(middle)] = std::clamp<std::uint64_t>(units, 1, kOne - 1);
    split(begin, middle, weights);
    split(middle, end, weights);
}

Blend::Place Blend::operator()(std::int64_t n) const {
    std::int64_t begin = 0;
    std::int64_t end = parts();
    while (end - begin > 1) {
        const std::int64_t middle = middle_of(begin, end);
        const std::uint64_t share = shares_[static_cast<std::size_t>(middle)];
        const std::int64_t before = left_count(n, share);
        if (left_count(n + 1, share) > before) {
            n = before;
            end = middle;
        } else {
            n -= before;
            begin = middle;
        }
    }
    return {begin, n};
}

}  // namespace longhaul::data
