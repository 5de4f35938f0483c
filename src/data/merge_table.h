// Merges of a byte-pair encoding: a pair of tokens -> its rank and the token that it becomes. Open
// addressing, as it is asked for every pair of every word.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tokenizer.h"

namespace longhaul::data {

struct Merge {
    std::uint32_t rank = 0;  // smaller: merged first
    TokenId result = -1;
};

class MergeTable {
public:
    explicit MergeTable(std::size_t count) {
        std::size_t capacity = 16;
        while (capacity < count * 2) capacity *= 2;
        slots_.resize(capacity);
    }

    // A pair that is there already keeps its first rank. False then.
    bool insert(TokenId left, TokenId right, Merge merge) {
        Slot& slot = slots_[place(key_of(left, right))];
        if (slot.key != kEmpty) return false;
        slot = {key_of(left, right), merge};
        return true;
    }
    // Null where the pair doesn't merge.
    [[nodiscard]] const Merge* find(TokenId left, TokenId right) const {
        const Slot& slot = slots_[place(key_of(left, right))];
        return slot.key == kEmpty ? nullptr : &slot.merge;
    }

private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    struct Slot {
        std::uint64_t key = kEmpty;
        Merge merge;
    };
    static std::uint64_t key_of(TokenId left, TokenId right) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U |
               static_cast<std::uint32_t>(right);
    }
    // The pair's slot, or the empty one where it would go. The table is never more than half full.
    [[nodiscard]] std::size_t place(std::uint64_t key) const {
        const std::size_t mask = slots_.size() - 1;
        // Fibonacci hashing; the high half is mixed best.
        std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 20U) & mask;
        while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }

    std::vector<Slot> slots_;
};

}  // namespace longhaul::data
