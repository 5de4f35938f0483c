// Weighted interleaving of several sequences as a pure function of the position, with exact proportions at
// every length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace longhaul::data {

// Position n of the blend is position `index` of part `part`. Walking n from 0, each part's own positions
// come up in order, none left out or repeated, and after n samples a part has had n * weight / sum of
// weights, rounded: off by less than one for two parts, by at most 1 + log2(parts) for more.
//
// How: a binary tree over the parts. A node deals n positions to its left and right side as round(n * p) and
// the rest, where p is the left side's share in units of 2^-62; both counts only ever grow with n, so each
// position of the node belongs to exactly one side and is the next one there. (Differences of rounded
// cumulative weights don't have that property: the count of a light part between two heavy ones can step
// back.)
class Blend {
public:
    struct Place {
        std::int64_t part;
        std::int64_t index;
    };

    // Weights are finite and greater than zero (shares below 2^-62 count as that). Error bad_config
    // otherwise.
    explicit Blend(std::span<const double> weights);

    // n >= 0.
    [[nodiscard]] Place operator()(std::int64_t n) const;
    [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(shares_.size()); }
    // What decides the interleaving, for fingerprints: equal for weights in equal proportions.
    [[nodiscard]] std::span<const std::uint64_t> shares() const { return shares_; }

private:
    void split(std::int64_t begin, std::int64_t end, std::span<const double> weights);

    std::vector<std::uint64_t>
        shares_;  // shares_[m]: left share of the node that divides its parts at m; [0] is unused
};

}  // namespace longhaul::data
