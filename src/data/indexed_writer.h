// Writes a packed data set, PREFIX.bin and PREFIX.idx, byte for byte as Megatron's builder does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/dataset_index.h"

namespace longhaul::data {

// Tokens are appended to the open sequence of the open document; memory grows by 12 bytes a document. Nothing
// is seen under the final names before commit; without it nothing is left. Every failure is an Error that
// names the file.
class IndexedWriter {
public:
    IndexedWriter(const std::string& prefix, TokenType type);
    // Between the two commits a .bin stands alone: it is removed again.
    ~IndexedWriter();
    IndexedWriter(const IndexedWriter&) = delete;
    IndexedWriter& operator=(const IndexedWriter&) = delete;

    void append(std::span<const std::int32_t> tokens);
    void end_sequence();
    // Ends the open sequence too, if it has tokens.
    void end_document();

    [[nodiscard]] std::int64_t tokens() const { return tokens_; }
    [[nodiscard]] std::int64_t documents() const {
        return static_cast<std::int64_t>(document_begins_.size()) - 1;
    }
    [[nodiscard]] std::int64_t sequences() const { return static_cast<std::int64_t>(sizes_.size()); }

    // In this order, so that an .idx is only ever seen beside its own complete .bin: an .idx of an earlier
    // data set of this name is removed and the .bin appears; then the .idx.
    void commit_tokens();
    void commit_index();

private:
    void write_index();

    std::string prefix_;
    TokenType type_;
    AtomicFile tokens_file_;
    AtomicFile index_file_;
    std::vector<std::byte> scratch_;
    std::vector<std::int32_t> sizes_;
    std::vector<std::int64_t> document_begins_{0};
    std::int64_t open_ = 0;  // tokens of the open sequence
    std::int64_t tokens_ = 0;
    bool tokens_alone_ = false;  // the .bin is under its final name, the .idx isn't
};

}  // namespace longhaul::data
