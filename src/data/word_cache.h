// Ids of words that were encoded before. Text repeats itself: nine words in ten come from here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"

namespace longhaul::data {

// For one thread at a time. Bounded: when it is full it starts anew.
class WordCache {
public:
    WordCache();

    // The ids of the word; empty where it isn't known (no word has none).
    [[nodiscard]] std::span<const TokenId> find(std::string_view word, std::uint64_t hash) const;
    // Words that are long, and so rare, are not kept.
    void insert(std::string_view word, std::uint64_t hash, std::span<const TokenId> ids);

private:
    struct Entry {
        std::uint64_t hash = 0;
        std::uint32_t text = 0;  // in texts_
        std::uint32_t ids = 0;   // in ids_
        std::uint16_t text_size = 0;
        std::uint16_t ids_size = 0;  // 0: an empty slot
    };
    [[nodiscard]] std::size_t place(std::string_view word, std::uint64_t hash) const;

    std::vector<Entry> entries_;
    std::string texts_;
    std::vector<TokenId> ids_;
    std::size_t count_ = 0;
};

}  // namespace longhaul::data
