// Parsing and checking of .idx files.
#include "data/dataset_index.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/parallel_for.h"

namespace longhaul::data {

namespace {

static_assert(std::endian::native == std::endian::little,
              "the files are little-endian and are read in place");

constexpr std::string_view kMagic{"MMIDIDX\0\0", 9};
constexpr std::size_t kHeaderBytes = 9 + 8 + 1 + 8 + 8;
constexpr std::int64_t kCheckChunk = std::int64_t{1} << 18;

template <typename T>
T load(const std::byte* from, std::int64_t index = 0) {
    T value;
    std::memcpy(&value, from + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
}

TokenType checked_type(std::uint8_t code, const std::string& name) {
    switch (code) {
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 8:
            return static_cast<TokenType>(code);
        case 6:
        case 7:
            fail(ErrorCode::bad_data,
                 "{}: offset 17: the data are floating-point numbers (type code {}), not tokens", name, code);
        default:
            fail(ErrorCode::bad_data, "{}: offset 17: unknown token type code {}", name, code);
    }
}

}  // namespace

std::int64_t token_bytes(TokenType type) {
    switch (type) {
        case TokenType::u8:
        case TokenType::i8:
            return 1;
        case TokenType::i16:
        case TokenType::u16:
            return 2;
        case TokenType::i32:
            return 4;
        case TokenType::i64:
            return 8;
    }
    fail(ErrorCode::internal, "token type {}", static_cast<int>(type));
}

const char* token_type_name(TokenType type) {
    switch (type) {
        case TokenType::u8:
            return "uint8";
        case TokenType::i8:
            return "int8";
        case TokenType::i16:
            return "int16";
        case TokenType::u16:
            return "uint16";
        case TokenType::i32:
            return "int32";
        case TokenType::i64:
            return "int64";
    }
    fail(ErrorCode::internal, "token type {}", static_cast<int>(type));
}

TokenType token_type_for(std::int64_t vocab) {
    return vocab < 65500 ? TokenType::u16 : TokenType::i32;
}

DatasetIndex::DatasetIndex(std::span<const std::byte> bytes, std::string name, std::uint64_t bin_bytes)
    : bytes_(bytes), name_(std::move(name)) {
    parse_header(bin_bytes);
    check_documents();
    std::atomic<bool> contiguous{true};
    parallel_for(div_ceil(sequences_, kCheckChunk), [&](std::int64_t chunk) {
        const std::int64_t begin = chunk * kCheckChunk;
        if (!check_sequences(begin, std::min(begin + kCheckChunk, sequences_), bin_bytes)) contiguous = false;
    });
    if (contiguous) {
        const std::int64_t last = sequences_ - 1;
        const std::int64_t end =
            sequences_ == 0 ? 0 : sequence_offset(last) + sequence_tokens(last) * token_bytes(type_);
        require(static_cast<std::uint64_t>(end) == bin_bytes, ErrorCode::bad_data,
                "{} describes {} bytes of tokens, but the .bin file beside it has {}: one of the two is torn "
                "or belongs "
                "to other data",
                name_, end, bin_bytes);
        tokens_ = end / token_bytes(type_);
        return;
    }
    prefix_.reserve(static_cast<std::size_t>(sequences_) + 1);
    for (std::int64_t i = 0; i < sequences_; ++i) {
        prefix_.push_back(tokens_);
        require(!__builtin_add_overflow(tokens_, sequence_tokens(i), &tokens_), ErrorCode::bad_data,
                "{}: more tokens than 64 bits can count", name_);
    }
    prefix_.push_back(tokens_);
}

void DatasetIndex::parse_header(std::uint64_t bin_bytes) {
    require(bytes_.size() >= kHeaderBytes, ErrorCode::bad_data,
            "{}: {} bytes are no .idx file, whose header alone has {}", name_, bytes_.size(), kHeaderBytes);
    const std::byte* const data = bytes_.data();
    require(std::memcmp(data, kMagic.data(), kMagic.size()) == 0, ErrorCode::bad_data,
            "{}: offset 0: no .idx file of an indexed data set (it does not begin with MMIDIDX)", name_);
    const auto version = load<std::uint64_t>(data + 9);
    require(version == 1, ErrorCode::bad_data, "{}: offset 9: version {} of the format, only 1 is known",
            name_, version);
    type_ = checked_type(load<std::uint8_t>(data + 17), name_);
    const auto sequences = load<std::uint64_t>(data + 18);
    const auto documents = load<std::uint64_t>(data + 26);
    // The counts can be anything: no product is made before the file is known to be long enough for it.
    const std::uint64_t room = bytes_.size() - kHeaderBytes;
    require(documents >= 1, ErrorCode::bad_data,
            "{}: offset 26: the list of documents is empty, but it always has an end", name_);
    require(sequences <= room / 12 && documents <= (room - sequences * 12) / 8, ErrorCode::bad_data,
            "{}: the header promises {} sequences and {} documents, which need more than the {} bytes of the "
            "file: it is "
            "torn",
            name_, sequences, documents - 1, bytes_.size());
    const std::uint64_t rest = room - sequences * 12 - documents * 8;
    require(rest == 0, ErrorCode::bad_data,
            "{}: {} bytes follow the {} documents of the index at offset {}{}", name_, rest, documents - 1,
            bytes_.size() - rest,
            rest == sequences ? " (sequence modes of a multimodal data set, which can't be trained on here)"
                              : "");
    require(bin_bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
            ErrorCode::bad_data, "{}: a .bin file of {} bytes", name_, bin_bytes);
    sequences_ = static_cast<std::int64_t>(sequences);
    documents_ = static_cast<std::int64_t>(documents) - 1;
    sizes_ = data + kHeaderBytes;
    offsets_ = sizes_ + sequences_ * 4;
    document_begins_ = offsets_ + sequences_ * 8;
}

void DatasetIndex::check_documents() const {
    std::int64_t previous = 0;
    for (std::int64_t d = 0; d <= documents_; ++d) {
        const std::int64_t begin = document_begin(d);
        require(begin >= previous && begin <= sequences_ && (d > 0 || begin == 0), ErrorCode::bad_data,
                "{}: offset {}: document {} begins at sequence {}, after one that begins at {} of {}", name_,
                document_begins_ - bytes_.data() + d * 8, d, begin, previous, sequences_);
        previous = begin;
    }
    require(previous == sequences_, ErrorCode::bad_data, "{}: the documents end at sequence {} of {}", name_,
            previous, sequences_);
}

bool DatasetIndex::check_sequences(std::int64_t begin, std::int64_t end, std::uint64_t bin_bytes) const {
    const std::int64_t item = token_bytes(type_);
    const auto limit = static_cast<std::int64_t>(bin_bytes);
    std::int64_t expected = begin == 0 ? 0
                                       : sequence_offset(begin - 1) +
                                             std::max<std::int64_t>(0, sequence_tokens(begin - 1)) * item;
    bool contiguous = true;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t size = sequence_tokens(i);
        const std::int64_t offset = sequence_offset(i);
        require(size >= 0, ErrorCode::bad_data, "{}: offset {}: sequence {} has {} tokens", name_,
                sizes_ - bytes_.data() + i * 4, i, size);
        require(offset >= 0 && offset % item == 0 && offset <= limit && size * item <= limit - offset,
                ErrorCode::bad_data,
                "{}: offset {}: sequence {}, {} tokens from byte {}, does not lie within the {} bytes of the "
                ".bin file: "
                "one of the two is torn or belongs to other data",
                name_, offsets_ - bytes_.data() + i * 8, i, size, offset, bin_bytes);
        contiguous = contiguous && offset == expected;
        expected = offset + size * item;
    }
    return contiguous;
}

std::int64_t DatasetIndex::sequence_tokens(std::int64_t i) const {
    return load<std::int32_t>(sizes_, i);
}

std::int64_t DatasetIndex::sequence_offset(std::int64_t i) const {
    return load<std::int64_t>(offsets_, i);
}

std::int64_t DatasetIndex::document_begin(std::int64_t d) const {
    return load<std::int64_t>(document_begins_, d);
}

std::int64_t DatasetIndex::first_token(std::int64_t i) const {
    if (i == sequences_) return tokens_;
    return contiguous() ? sequence_offset(i) / token_bytes(type_) : prefix_[static_cast<std::size_t>(i)];
}

namespace {

// The last i in [0, count) with begin(i) <= value: of equal begins (empty ranges) the one that isn't empty.
template <typename Begin>
std::int64_t last_not_after(std::int64_t count, std::int64_t value, Begin begin) {
    std::int64_t low = 0;
    std::int64_t high = count;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (begin(middle) <= value ? low : high) = middle;
    }
    return low;
}

}  // namespace

std::int64_t DatasetIndex::sequence_of(std::int64_t token) const {
    return last_not_after(sequences_, token, [this](std::int64_t i) { return first_token(i); });
}

std::int64_t DatasetIndex::document_of(std::int64_t sequence) const {
    return last_not_after(documents_, sequence, [this](std::int64_t d) { return document_begin(d); });
}

}  // namespace longhaul::data
