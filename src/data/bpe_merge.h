// Merging the symbols of one word by rank, the core of byte-pair encoding (Sennrich et al. 2016).
#pragma once

#include <vector>

#include "data/merge_table.h"

namespace longhaul::data {

// Merges in place: always the pair of lowest rank, the leftmost of equals, until no pair merges. Takes O(n
// log n) for long words (a megabyte without a space is one word of some vocabularies).
void merge_symbols(const MergeTable& table, std::vector<TokenId>& symbols);

}  // namespace longhaul::data
