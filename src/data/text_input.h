// Text files as a stream of bytes, whether they are plain, gzip (also dictzip) or zstd: told by their first
// bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace longhaul::data {

// Reads once from front to end. Not thread-safe.
class TextInput {
public:
    // "-" is standard input (compressed or not). Error bad_data when the file can't be opened.
    explicit TextInput(const std::filesystem::path& path);
    ~TextInput();
    TextInput(TextInput&&) noexcept;
    TextInput& operator=(TextInput&&) noexcept;

    // Fills `out` from its front and returns how many bytes were written: fewer than out.size() only at the
    // end of the text, 0 when there is no more. Error bad_data with the file's name and the offset in the
    // file where compressed data is corrupt or ends too early.
    [[nodiscard]] std::size_t read(std::span<char> out);

    // Bytes taken from the file so far (compressed ones, if it is), for progress.
    [[nodiscard]] std::size_t consumed() const;

    // Size of the file in bytes, 0 if it is not known (standard input, pipes).
    [[nodiscard]] std::size_t file_size() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The rest of the input as one string.
[[nodiscard]] std::string read_all(TextInput& input);

}  // namespace longhaul::data
