// The .idx half of a packed data set in Megatron's indexed format: where each sequence of tokens lies in the
// .bin file and which sequences make up a document. Little-endian, nothing aligned:
//   9 bytes "MMIDIDX\0\0" | u64 version = 1 | u8 token type | u64 sequences | u64 documents + 1
//   i32 tokens of each sequence | i64 byte offset of each sequence in .bin | i64 first sequence of each
//   document, and the end
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longhaul::data {

// The integer types that tokens are stored in, by their code in the file (codes 6 and 7 are floating point:
// refused).
enum class TokenType : std::uint8_t { u8 = 1, i8 = 2, i16 = 3, i32 = 4, i64 = 5, u16 = 8 };

[[nodiscard]] std::int64_t token_bytes(TokenType type);
[[nodiscard]] const char* token_type_name(TokenType type);  // "uint16", "int32", ...

// The narrowest of uint16 and int32 for a vocabulary, by Megatron's rule (uint16 below 65500 tokens), so that
// both write the same bytes.
[[nodiscard]] TokenType token_type_for(std::int64_t vocab);

// A checked view of an .idx file. All numbers are consistent with each other and with the size of the .bin
// file once it is made, so its readers need no further checks.
class DatasetIndex {
public:
    // `bytes` is the whole file and must outlive the object; `bin_bytes` the size of the .bin file. Error
    // bad_data names `name`, the entry and its offset.
    DatasetIndex(std::span<const std::byte> bytes, std::string name, std::uint64_t bin_bytes);

    [[nodiscard]] TokenType type() const { return type_; }
    [[nodiscard]] std::int64_t sequences() const { return sequences_; }
    [[nodiscard]] std::int64_t documents() const { return documents_; }
    [[nodiscard]] std::int64_t tokens() const { return tokens_; }

    // Of sequence i: number of tokens, and byte offset of the first in the .bin file.
    [[nodiscard]] std::int64_t sequence_tokens(std::int64_t i) const;
    [[nodiscard]] std::int64_t sequence_offset(std::int64_t i) const;
    // First sequence of document d; d = documents() gives sequences().
    [[nodiscard]] std::int64_t document_begin(std::int64_t d) const;

    // Whether the .bin file is the sequences one after the other, as every writer that we know of makes it:
    // then token t of the concatenation is the t-th of the file.
    [[nodiscard]] bool contiguous() const { return prefix_.empty(); }
    // Position of a sequence's first token in the concatenation of all; i = sequences() gives tokens().
    [[nodiscard]] std::int64_t first_token(std::int64_t i) const;
    // The sequence that holds a token of the concatenation, and the document that holds a sequence: binary
    // searches.
    [[nodiscard]] std::int64_t sequence_of(std::int64_t token) const;
    [[nodiscard]] std::int64_t document_of(std::int64_t sequence) const;

private:
    void parse_header(std::uint64_t bin_bytes);
    void check_documents() const;
    [[nodiscard]] bool check_sequences(std::int64_t begin, std::int64_t end, std::uint64_t bin_bytes) const;

    std::span<const std::byte> bytes_;
    std::string name_;
    TokenType type_ = TokenType::i32;
    std::int64_t sequences_ = 0;
    std::int64_t documents_ = 0;
    std::int64_t tokens_ = 0;
    const std::byte* sizes_ = nullptr;
    const std::byte* offsets_ = nullptr;
    const std::byte* document_begins_ = nullptr;
    std::vector<std::int64_t> prefix_;  // first_token of each sequence, only where the .bin isn't contiguous
};

}  // namespace longhaul::data
