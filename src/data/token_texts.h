// From ids back to text: the bytes that each token stands for, worked out once by a tokenizer.json's decoder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/added_tokens.h"
#include "data/bpe_model.h"
#include "data/json_fields.h"
#include "data/pretokenizer.h"

namespace longhaul::data {

class TokenTexts {
public:
    // null, ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip (of leading text), and sequences of
    // them. Without a decoder words are put together as the pre-tokenizer took them apart. Error bad_data for
    // another, and for ids that are spread too thin to be a vocabulary.
    TokenTexts(const Json& decoder, const PreTokenizer& pretokenizer, const Vocabulary& vocabulary,
               const std::vector<AddedToken>& added);

    // Error bad_data for an id without a token.
    [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;
    // The largest id plus one.
    [[nodiscard]] std::int64_t size() const { return std::ssize(texts_); }

private:
    std::vector<std::optional<std::string>> texts_;
    std::string leading_;            // stripped from the front of what is decoded,
    std::size_t leading_count_ = 0;  // so many times at most
};

}  // namespace longhaul::data
