// Small things that are asked of text and done to it; bytes that are no UTF-8 are neither spaces nor words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longhaul::data {

// Bytes of the white space character (Unicode's) that begins at text[at]; 0 if none does.
[[nodiscard]] std::size_t space_length(std::string_view text, std::size_t at);

// Whether a valid character belongs to a word: letters, marks, digits, connectors such as the underscore.
[[nodiscard]] bool is_word_character(std::string_view character);

// Every `what` replaced by `by`, from left to right; nothing where `what` is empty.
[[nodiscard]] std::string replace_all(std::string_view text, std::string_view what, std::string_view by);

}  // namespace longhaul::data
