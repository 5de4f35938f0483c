// Short words scan for the best pair, long ones keep pairs in a heap.
#include "data/bpe_merge.h"

#include <algorithm>
#include <queue>

namespace longhaul::data {

namespace {

constexpr std::size_t kShort = 48;

void merge_short(const MergeTable& table, std::vector<TokenId>& symbols) {
    const Merge* merges[kShort];
    std::size_t count = symbols.size();
    for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = table.find(symbols[i], symbols[i + 1]);
    while (count > 1) {
        std::size_t best = count;
        for (std::size_t i = 0; i + 1 < count; ++i) {
            if (merges[i] != nullptr && (best == count || merges[i]->rank < merges[best]->rank)) best = i;
        }
        if (best == count) break;
        symbols[best] = merges[best]->result;
        for (std::size_t i = best + 1; i + 1 < count; ++i) {
            symbols[i] = symbols[i + 1];
            merges[i] = i + 2 < count ? merges[i + 1] : nullptr;
        }
        --count;
        if (best > 0) merges[best - 1] = table.find(symbols[best - 1], symbols[best]);
        if (best + 1 < count) merges[best] = table.find(symbols[best], symbols[best + 1]);
    }
    symbols.resize(count);
}

struct Candidate {
    std::uint32_t rank;
    std::uint32_t left;  // index of the left symbol
    TokenId left_token, right_token, result;
    // The heap's top: lowest rank, leftmost.
    friend bool operator<(const Candidate& a, const Candidate& b) {
        return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    }
};

void merge_long(const MergeTable& table, std::vector<TokenId>& symbols) {
    constexpr std::uint32_t kNone = ~std::uint32_t{0};
    const auto count = static_cast<std::uint32_t>(symbols.size());
    std::vector<std::uint32_t> previous(count);
    std::vector<std::uint32_t> next(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        previous[i] = i == 0 ? kNone : i - 1;
        next[i] = i + 1 == count ? kNone : i + 1;
    }
    std::priority_queue<Candidate> heap;
    const auto offer = [&](std::uint32_t left) {
        if (left == kNone || next[left] == kNone) return;
        const TokenId a = symbols[left];
        const TokenId b = symbols[next[left]];
        if (const Merge* merge = table.find(a, b)) heap.push({merge->rank, left, a, b, merge->result});
    };
    for (std::uint32_t i = 0; i + 1 < count; ++i) offer(i);
    constexpr TokenId kGone = -2;
    while (!heap.empty()) {
        const Candidate c = heap.top();
        heap.pop();
        // Symbols that merged with others since leave stale candidates behind.
        if (symbols[c.left] != c.left_token || next[c.left] == kNone ||
            symbols[next[c.left]] != c.right_token)
            continue;
        const std::uint32_t right = next[c.left];
        symbols[c.left] = c.result;
        symbols[right] = kGone;
        next[c.left] = next[right];
        if (next[right] != kNone) previous[next[right]] = c.left;
        offer(previous[c.left]);
        offer(c.left);
    }
    std::erase(symbols, kGone);
}

}  // namespace

void merge_symbols(const MergeTable& table, std::vector<TokenId>& symbols) {
    if (symbols.size() <= kShort) {
        merge_short(table, symbols);
    } else {
        merge_long(table, symbols);
    }
}

}  // namespace longhaul::data
