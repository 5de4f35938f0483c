// Open addressing, at most half full.
#include "data/word_cache.h"

#include <algorithm>

namespace longhaul::data {

namespace {

constexpr std::size_t kSlots = std::size_t{1} << 17U;
constexpr std::size_t kLongest = 64;

}  // namespace

WordCache::WordCache() : entries_(kSlots) {}

std::size_t WordCache::place(std::string_view word, std::uint64_t hash) const {
    std::size_t at = hash & (kSlots - 1);
    while (entries_[at].ids_size != 0) {
        const Entry& e = entries_[at];
        if (e.hash == hash && std::string_view(texts_).substr(e.text, e.text_size) == word) break;
        at = (at + 1) & (kSlots - 1);
    }
    return at;
}

std::span<const TokenId> WordCache::find(std::string_view word, std::uint64_t hash) const {
    const Entry& e = entries_[place(word, hash)];
    return std::span(ids_).subspan(e.ids, e.ids_size);
}

void WordCache::insert(std::string_view word, std::uint64_t hash, std::span<const TokenId> ids) {
    if (word.size() > kLongest || ids.empty()) return;
    if (count_ == kSlots / 2) {
        std::fill(entries_.begin(), entries_.end(), Entry());
        texts_.clear();
        ids_.clear();
        count_ = 0;
    }
    Entry& e = entries_[place(word, hash)];
    if (e.ids_size != 0) return;
    e = {hash, static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(ids_.size()),
         static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(ids.size())};
    texts_ += word;
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    ++count_;
}

}  // namespace longhaul::data
