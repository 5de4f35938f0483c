// Writer of .bin/.idx pairs.
#include "data/indexed_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace longhaul::data {

namespace {

// A sequence's size is an int32 in the file: a longer document goes on in another sequence.
constexpr std::int64_t kMaxSequence = std::numeric_limits<std::int32_t>::max();

template <typename T>
void write_value(AtomicFile& file, T value) {
    file.write(std::as_bytes(std::span(&value, 1)));
}

template <typename T>
std::int64_t narrow_tokens(std::span<const std::int32_t> tokens, std::byte* to) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!std::in_range<T>(tokens[i])) return static_cast<std::int64_t>(i);
        const auto value = static_cast<T>(tokens[i]);
        std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
    return -1;
}

}  // namespace

IndexedWriter::IndexedWriter(const std::string& prefix, TokenType type)
    : prefix_(prefix), type_(type), tokens_file_(prefix + ".bin"), index_file_(prefix + ".idx") {
    require(type == TokenType::u16 || type == TokenType::i32, ErrorCode::internal,
            "tokens are not written as {}", token_type_name(type));
}

IndexedWriter::~IndexedWriter() {
    std::error_code ignored;
    if (tokens_alone_) std::filesystem::remove(prefix_ + ".bin", ignored);
}

void IndexedWriter::append(std::span<const std::int32_t> tokens) {
    while (!tokens.empty()) {
        const auto here = std::min(static_cast<std::int64_t>(tokens.size()), kMaxSequence - open_);
        const auto part = tokens.first(static_cast<std::size_t>(here));
        scratch_.resize(part.size() * static_cast<std::size_t>(token_bytes(type_)));
        const std::int64_t bad = type_ == TokenType::u16 ? narrow_tokens<std::uint16_t>(part, scratch_.data())
                                                         : narrow_tokens<std::int32_t>(part, scratch_.data());
        require(bad < 0, ErrorCode::internal, "token {} does not fit the {} of {}.bin",
                bad < 0 ? 0 : part[static_cast<std::size_t>(bad)], token_type_name(type_), prefix_);
        tokens_file_.write(scratch_);
        open_ += here;
        tokens_ += here;
        if (open_ == kMaxSequence) end_sequence();
        tokens = tokens.subspan(part.size());
    }
}

void IndexedWriter::end_sequence() {
    sizes_.push_back(static_cast<std::int32_t>(open_));
    open_ = 0;
}

void IndexedWriter::end_document() {
    if (open_ > 0) end_sequence();
    document_begins_.push_back(sequences());
}

void IndexedWriter::commit_tokens() {
    require(open_ == 0, ErrorCode::internal, "{}: the last document is open", prefix_);
    // Before anything is replaced: a full disk shows here.
    write_index();
    std::error_code error;
    std::filesystem::remove(prefix_ + ".idx", error);
    require(!error, ErrorCode::bad_data, "cannot replace {}.idx: {}", prefix_, error.message());
    tokens_file_.commit();
    tokens_alone_ = true;
}

void IndexedWriter::write_index() {
    index_file_.write(std::string_view("MMIDIDX\0\0", 9));
    write_value<std::uint64_t>(index_file_, 1);
    write_value(index_file_, static_cast<std::uint8_t>(type_));
    write_value<std::uint64_t>(index_file_, sizes_.size());
    write_value<std::uint64_t>(index_file_, document_begins_.size());
    index_file_.write(std::as_bytes(std::span(sizes_)));
    std::int64_t offset = 0;
    for (const std::int32_t size : sizes_) {
        write_value(index_file_, offset);
        offset += size * token_bytes(type_);
    }
    index_file_.write(std::as_bytes(std::span(document_begins_)));
}

void IndexedWriter::commit_index() {
    require(tokens_alone_, ErrorCode::internal, "{}: an index without its tokens", prefix_);
    index_file_.commit();
    tokens_alone_ = false;
}

}  // namespace longhaul::data
