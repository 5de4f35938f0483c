// How often each word occurs in files: what a byte-pair encoding is trained from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace longhaul::data {

struct WordCountOptions {
    std::vector<std::string> inputs;  // "-" is standard input
    bool jsonl = false;               // all of them, whatever their names
    std::string json_key = "text";
    std::string pattern;                      // cuts text into words
    std::vector<std::string> special_tokens;  // are no words, wherever they stand
    // Words that are kept in memory at once, in all. Beyond, the rarest are dropped.
    std::size_t max_words = 8'000'000;
    // Bytes read of the inputs, and of their sum (0: not known); about ten times a second.
    std::function<void(std::uint64_t, std::uint64_t)> progress;
};

struct WordCounts {
    std::vector<std::pair<std::string, std::int64_t>> words;  // sorted by text
    std::uint64_t text_bytes = 0;
    bool dropped = false;  // whether rare words had to go
};

// The same for any number of threads. Errors as of reading text.
[[nodiscard]] WordCounts count_words(const WordCountOptions& options);

}  // namespace longhaul::data
