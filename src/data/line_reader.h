// Lines of a compressed or plain text file, in bounded memory whatever their length.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "data/text_input.h"

namespace longhaul::data {

class LineReader {
public:
    // `buffer_bytes` >= 3.
    explicit LineReader(const std::filesystem::path& path, std::size_t buffer_bytes = std::size_t{1} << 18U)
        : input_(path), buffer_(buffer_bytes) {}

    // A line with its line break, or a part of a line that is longer than the buffer.
    struct Fragment {
        std::string_view text;  // valid until the next call
        bool begins_line = true;
        bool ends_line = true;  // has the line break, or is the end of the file
    };

    // False at the end. The byte-order mark that some editors put at the beginning of a file is passed over.
    [[nodiscard]] bool next(Fragment& fragment);
    [[nodiscard]] std::size_t consumed() const { return input_.consumed(); }

private:
    void refill();

    TextInput input_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    bool inside_line_ = false;
    bool started_ = false;
    bool ended_ = false;
};

}  // namespace longhaul::data
