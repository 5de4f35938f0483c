// A packed data set on disk, PREFIX.bin and PREFIX.idx: all its tokens as one long sequence, and its
// documents.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/dataset_index.h"

namespace longhaul::data {

// `name` without a ".bin" or ".idx" at its end, which people paste.
[[nodiscard]] std::string dataset_prefix(std::string name);

// A hash of a file's content: of all of it up to 64 MiB, of its size and 64 even spread pieces beyond (other
// data practically always differ in those; reading terabytes at each start is no option).
[[nodiscard]] std::uint64_t content_fingerprint(std::span<const std::byte> bytes);

// Read-only, memory-mapped, safe to read from many threads.
class IndexedDataset {
public:
    // Error bad_data with file, offset and reason when a file is missing, torn, or doesn't match the other.
    explicit IndexedDataset(const std::string& prefix);
    // Of bytes in memory, which must outlive the object.
    IndexedDataset(std::span<const std::byte> index, std::span<const std::byte> tokens, std::string name);

    [[nodiscard]] const DatasetIndex& index() const { return index_; }
    [[nodiscard]] const std::string& prefix() const { return prefix_; }

    // Tokens [first, first + out.size()) of the concatenation of all documents.
    void read(std::int64_t first, std::span<std::int32_t> out) const;
    [[nodiscard]] std::vector<std::int32_t> sequence(std::int64_t i) const;
    // All sequences of document d, one after the other.
    [[nodiscard]] std::vector<std::int32_t> document(std::int64_t d) const;
    // "document 12 (token 34 of it)": for messages about a token of the concatenation.
    [[nodiscard]] std::string locate(std::int64_t token) const;

    // Of both files' content, not of their names.
    [[nodiscard]] std::uint64_t fingerprint() const;

private:
    void copy_tokens(std::int64_t byte_offset, std::span<std::int32_t> out) const;

    MappedFile index_file_;
    MappedFile token_file_;
    std::string prefix_;
    std::span<const std::byte> index_bytes_;
    std::span<const std::byte> tokens_;
    DatasetIndex index_;
};

}  // namespace longhaul::data
