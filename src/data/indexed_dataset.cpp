// Reading tokens out of mapped .bin files.
#include "data/indexed_dataset.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace longhaul::data {

namespace {

MappedFile open_index(const std::string& prefix) {
    const bool index = std::filesystem::exists(prefix + ".idx");
    const bool tokens = std::filesystem::exists(prefix + ".bin");
    require(index || !tokens, ErrorCode::bad_data,
            "{0}.bin has no {0}.idx beside it: it was not written to its end; run `data pack` again", prefix);
    require(index && tokens, ErrorCode::bad_data,
            "no packed data set {0}: {0}.{1} is missing (`data pack --out {0}` makes one)", prefix,
            index ? "bin" : "idx");
    return MappedFile(prefix + ".idx");
}

// Widens (or, from 64 bits, narrows) stored tokens. Gives the index of the first that int32 can't hold, or
// -1.
template <typename T>
std::int64_t convert(const std::byte* from, std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        T value;
        std::memcpy(&value, from + i * sizeof(T), sizeof(T));
        if constexpr (sizeof(T) > sizeof(std::int32_t)) {
            if (!std::in_range<std::int32_t>(value)) return static_cast<std::int64_t>(i);
        }
        // One type of token is int8. NOLINTNEXTLINE(bugprone-signed-char-misuse)
        out[i] = static_cast<std::int32_t>(value);
    }
    return -1;
}

}  // namespace

std::string dataset_prefix(std::string name) {
    if (name.ends_with(".bin") || name.ends_with(".idx")) name.resize(name.size() - 4);
    return name;
}

std::uint64_t content_fingerprint(std::span<const std::byte> bytes) {
    constexpr std::size_t kWhole = std::size_t{64} << 20U;
    constexpr std::size_t kPieces = 64;
    constexpr std::size_t kPieceBytes = 4096;
    if (bytes.size() <= kWhole) return hash64(bytes);
    std::uint64_t hash = bytes.size();
    const std::size_t stride = (bytes.size() - kPieceBytes) / (kPieces - 1);
    for (std::size_t i = 0; i < kPieces; ++i) hash = hash64(bytes.subspan(i * stride, kPieceBytes), hash);
    return hash64(bytes.last(kPieceBytes), hash);
}

IndexedDataset::IndexedDataset(const std::string& prefix)
    : index_file_(open_index(dataset_prefix(prefix))),
      token_file_(dataset_prefix(prefix) + ".bin"),
      prefix_(dataset_prefix(prefix)),
      index_bytes_(index_file_.bytes()),
      tokens_(token_file_.bytes()),
      index_(index_bytes_, prefix_ + ".idx", tokens_.size()) {}

IndexedDataset::IndexedDataset(std::span<const std::byte> index, std::span<const std::byte> tokens,
                               std::string name)
    : prefix_(std::move(name)),
      index_bytes_(index),
      tokens_(tokens),
      index_(index_bytes_, prefix_ + ".idx", tokens_.size()) {}

void IndexedDataset::copy_tokens(std::int64_t byte_offset, std::span<std::int32_t> out) const {
    const std::byte* const from = tokens_.data() + byte_offset;
    std::int64_t bad = -1;
    switch (index_.type()) {
        case TokenType::u8:
            bad = convert<std::uint8_t>(from, out);
            break;
        case TokenType::i8:
            bad = convert<std::int8_t>(from, out);
            break;
        case TokenType::i16:
            bad = convert<std::int16_t>(from, out);
            break;
        case TokenType::u16:
            bad = convert<std::uint16_t>(from, out);
            break;
        case TokenType::i32:
            bad = convert<std::int32_t>(from, out);
            break;
        case TokenType::i64:
            bad = convert<std::int64_t>(from, out);
            break;
    }
    require(bad < 0, ErrorCode::bad_data,
            "{}.bin: offset {}: a number that is no token id (it needs more than 32 bits)", prefix_,
            byte_offset + bad * token_bytes(index_.type()));
}

void IndexedDataset::read(std::int64_t first, std::span<std::int32_t> out) const {
    const auto count = static_cast<std::int64_t>(out.size());
    require(first >= 0 && first <= index_.tokens() && count <= index_.tokens() - first, ErrorCode::internal,
            "{}: tokens {} to {} of {}", prefix_, first, first + count, index_.tokens());
    if (count == 0) return;
    if (index_.contiguous()) return copy_tokens(first * token_bytes(index_.type()), out);
    for (std::int64_t i = index_.sequence_of(first); !out.empty(); ++i) {
        const std::int64_t skip = first - index_.first_token(i);
        const auto here = std::min(index_.sequence_tokens(i) - skip, static_cast<std::int64_t>(out.size()));
        copy_tokens(index_.sequence_offset(i) + skip * token_bytes(index_.type()),
                    out.first(static_cast<std::size_t>(here)));
        out = out.subspan(static_cast<std::size_t>(here));
        first += here;
    }
}

std::vector<std::int32_t> IndexedDataset::sequence(std::int64_t i) const {
    require(i >= 0 && i < index_.sequences(), ErrorCode::bad_config, "{} has no sequence {}: there are {}",
            prefix_, i, index_.sequences());
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(index_.sequence_tokens(i)));
    read(index_.first_token(i), tokens);
    return tokens;
}

std::vector<std::int32_t> IndexedDataset::document(std::int64_t d) const {
    require(d >= 0 && d < index_.documents(), ErrorCode::bad_config, "{} has no document {}: there are {}",
            prefix_, d, index_.documents());
    const std::int64_t begin = index_.first_token(index_.document_begin(d));
    const std::int64_t end = index_.first_token(index_.document_begin(d + 1));
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(end - begin));
    read(begin, tokens);
    return tokens;
}

std::string IndexedDataset::locate(std::int64_t token) const {
    const std::int64_t d = index_.document_of(index_.sequence_of(token));
    return fmt::format("document {} (token {} of it)", d,
                       token - index_.first_token(index_.document_begin(d)));
}

std::uint64_t IndexedDataset::fingerprint() const {
    const std::array<std::uint64_t, 2> parts{content_fingerprint(index_bytes_), content_fingerprint(tokens_)};
    return hash64(std::as_bytes(std::span(parts)));
}

}  // namespace longhaul::data
