// The "BPE" model of a tokenizer.json: a vocabulary and merges, from words to ids.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/json_fields.h"
#include "data/merge_table.h"

namespace longhaul::data {

// A map that is searched by string_view without making a string.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Vocabulary = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

class BpeModel {
public:
    // `model` is the object of that name. `byte_level`: words are bytes, spelled in the alphabet of bytes;
    // else they are characters, those outside the vocabulary are bytes (byte_fallback) or the unknown token.
    // Error bad_data for anything that doesn't fit together, and for options without which another
    // tokenizer's ids would differ.
    BpeModel(const Json& model, bool byte_level);

    // Appends the ids of a word; the same word gives the same ids. Error bad_data where the vocabulary has no
    // token for a byte or character of it. `symbols` is memory that is used again.
    void encode(std::string_view word, std::vector<TokenId>& out, std::vector<TokenId>& symbols) const;

    // By spelling, as the file has it.
    [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

private:
    void read_vocabulary(const Json& model);
    void read_merges(const Json& model);
    void read_bytes();
    void symbols_of_bytes(std::string_view word, std::vector<TokenId>& symbols) const;
    void symbols_of_characters(std::string_view word, std::vector<TokenId>& symbols) const;
    [[nodiscard]] TokenId required(const std::string& spelling, std::size_t merge) const;

    Vocabulary vocabulary_;
    Vocabulary words_;  // with ignore_merges: whole words, as bytes
    MergeTable merges_;
    std::array<TokenId, 256> bytes_{};  // byte-level: its symbol; byte fallback: <0xXX>; -1: none
    TokenId unknown_ = -1;
    bool byte_level_ = false;
    bool byte_fallback_ = false;
    bool fuse_unknown_ = false;
    bool ignore_merges_ = false;
};

}  // namespace longhaul::data
