// A tokenizer.json of byte-pair encoding as a Tokenizer: added tokens, normalizer, pre-tokenizer, merges,
// decoder.
#pragma once

#include <memory>
#include <mutex>

#include "data/added_tokens.h"
#include "data/bpe_model.h"
#include "data/normalizer.h"
#include "data/pretokenizer.h"
#include "data/token_texts.h"
#include "data/tokenizer.h"
#include "data/word_cache.h"

namespace longhaul::data {

class BpeTokenizer final : public Tokenizer {
public:
    // The text of a tokenizer.json. `files` is what files() returns. Error bad_data with the field that is
    // wrong or not supported.
    explicit BpeTokenizer(std::string_view json_text, std::vector<std::filesystem::path> files = {});

    [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const override {
        return encode(text, false);
    }
    [[nodiscard]] std::vector<TokenId> encode_rest(std::string_view text) const override {
        return encode(text, true);
    }
    [[nodiscard]] std::string decode(std::span<const TokenId> ids) const override {
        return texts_.decode(ids);
    }
    [[nodiscard]] std::int64_t vocab_size() const override { return texts_.size(); }
    [[nodiscard]] std::optional<TokenId> end_of_document() const override;
    [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const override;
    [[nodiscard]] std::uint64_t fingerprint() const override { return fingerprint_; }
    [[nodiscard]] std::vector<std::filesystem::path> files() const override { return files_; }

private:
    BpeTokenizer(const Json& json, std::uint64_t fingerprint, std::vector<std::filesystem::path> files);

    // What a thread needs during one call; lent out of a pool so that words stay known between calls.
    struct Workspace {
        explicit Workspace(const PreTokenizer& pretokenizer) : scratch(pretokenizer) {}
        PreTokenizer::Scratch scratch;
        WordCache words;
        std::vector<TokenId> symbols, ids;
        std::vector<AddedTokenFinder::Part> raw_parts, parts;
        std::string normalized;
    };
    [[nodiscard]] std::unique_ptr<Workspace> borrow() const;
    void give_back(std::unique_ptr<Workspace> workspace) const;

    [[nodiscard]] std::vector<TokenId> encode(std::string_view text, bool continues) const;
    void encode_text(std::string_view text, bool first, bool continues, Workspace& work,
                     std::vector<TokenId>& out) const;
    void encode_word(std::string_view word, Workspace& work, std::vector<TokenId>& out) const;
    [[nodiscard]] std::vector<AddedToken> found_in_normalized(bool normalized) const;

    std::uint64_t fingerprint_;
    std::vector<std::filesystem::path> files_;
    std::vector<AddedToken> added_;
    Normalizer normalizer_;
    PreTokenizer pretokenizer_;
    BpeModel model_;
    TokenTexts texts_;
    AddedTokenFinder raw_finder_, normalized_finder_;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

// The id of the token that ends a document in common vocabularies, by its usual spellings.
[[nodiscard]] std::optional<TokenId> usual_end_of_document(const Tokenizer& tokenizer);

}  // namespace longhaul::data
