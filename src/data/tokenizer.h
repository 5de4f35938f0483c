// Tokenizers: text to token ids and back, behind one interface, whatever the definition (Hugging Face
// tokenizer.json, sentencepiece model, raw bytes).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::data {

using TokenId = std::int32_t;

// All methods are const and may be called from any number of threads at once.
class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    // The ids of the text; special tokens that stand in it are recognised. Nothing is added: no
    // begin-of-text, no end-of-document, whatever the definition's post-processor says. The text need not be
    // valid UTF-8.
    [[nodiscard]] virtual std::vector<TokenId> encode(std::string_view text) const = 0;

    // As encode(), of text that goes on in the middle of a longer one: where a tokenizer begins text with a
    // space of its own, none is put there.
    [[nodiscard]] virtual std::vector<TokenId> encode_rest(std::string_view text) const {
        return encode(text);
    }

    // The text of the ids, special tokens written out as they are spelled. Error bad_data for an id without a
    // token.
    [[nodiscard]] virtual std::string decode(std::span<const TokenId> ids) const = 0;

    // The largest id plus one (ids may have gaps).
    [[nodiscard]] virtual std::int64_t vocab_size() const = 0;

    // The token that ends a document (<|endoftext|>, </s>, <|end_of_text|>, ...), if the definition has one.
    [[nodiscard]] virtual std::optional<TokenId> end_of_document() const = 0;

    // The id of a token or special token by its literal text, as the definition spells it.
    [[nodiscard]] virtual std::optional<TokenId> id_of(std::string_view token) const = 0;

    // A hash of the definition: the same file content gives the same value.
    [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;

    // Files that make up the definition (tokenizer.json, *.model), to be copied into checkpoints and exports;
    // empty for raw bytes.
    [[nodiscard]] virtual std::vector<std::filesystem::path> files() const = 0;
};

// `name` is a path to a tokenizer.json, a folder that holds one (or a tokenizer.model), a sentencepiece
// *.model, or the word "bytes" (256 byte values and one end-of-document token, 256). Error bad_config when
// there is no such thing, bad_data when its content is broken or asks for something that is not supported.
[[nodiscard]] std::unique_ptr<Tokenizer> load_tokenizer(const std::string& name);

// Text of a growing sequence of ids, for streamed generation: bytes of an unfinished UTF-8 character are held
// back until the rest of it arrives. The tokenizer must outlive the decoder.
class StreamDecoder {
public:
    explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

    // The text that this token completes; may be empty.
    [[nodiscard]] std::string push(TokenId id);

    // What is still held back, finished or not. The decoder is empty afterwards.
    [[nodiscard]] std::string finish();

private:
    static constexpr std::ptrdiff_t kContext = 4;
    const Tokenizer* tokenizer_;
    std::vector<TokenId> ids_;  // some tokens before, and those whose text is not wholly given out
    std::size_t given_ = 0;     // bytes of decode(ids_) that are given out
};

}  // namespace longhaul::data
