// UTF-8: lengths of characters, in text that need not be valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

// Bytes of the character that begins at text[at] (1 to 4); 0 where no valid character begins (stray bytes,
// overlong forms, surrogates, beyond U+10FFFF, cut off).
[[nodiscard]] std::size_t utf8_length(std::string_view text, std::size_t at);

// The code point of a valid character of that many bytes.
[[nodiscard]] char32_t utf8_code_point(std::string_view character);

// Appends the character's bytes.
void append_utf8(std::string& out, char32_t code_point);

[[nodiscard]] bool is_utf8(std::string_view text);

// Bytes at the end of the text that begin a character but don't finish it: 0 to 3.
[[nodiscard]] std::size_t unfinished_utf8(std::string_view text);

}  // namespace longhaul
