// Training of a byte-level byte-pair encoding (Sennrich et al. 2016; bytes after GPT-2), written as
// tokenizer.json.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer.h"

namespace longhaul::data {

struct BpeTrainOptions {
    std::int64_t vocab_size = 0;                               // special tokens and the 256 bytes included
    std::int64_t min_count = 2;                                // pairs that are rarer are not merged
    std::function<void(std::int64_t, std::int64_t)> progress;  // merges made, and wanted
};

struct TrainedBpe {
    // Left and right token of each merge, in order; tokens 0 to 255 are the bytes.
    std::vector<std::pair<TokenId, TokenId>> merges;
    std::vector<std::string> tokens;  // bytes of token 0 and on
};

// From words and their counts. Of equally frequent pairs the one with the smaller ids is merged first, so
// that the result depends on the counts alone. Fewer merges than asked for where no pair is left that occurs
// min_count times. `special_count` tokens of the vocabulary are for special ones. Error bad_config for a
// vocabulary that is too small.
[[nodiscard]] TrainedBpe train_bpe(const std::vector<std::pair<std::string, std::int64_t>>& words,
                                   std::int64_t special_count, const BpeTrainOptions& options);

// As a tokenizer.json: special tokens have the first ids, then bytes, then merges. `pattern` is GPT-2's
// (kGpt2Pattern, written as ByteLevel) or any other (written as a Split).
[[nodiscard]] std::string tokenizer_json(const TrainedBpe& trained,
                                         const std::vector<std::string>& special_tokens,
                                         const std::string& pattern);

}  // namespace longhaul::data
