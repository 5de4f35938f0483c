// GPT-2's printable alphabet of bytes: how byte-level vocabularies spell their tokens in a tokenizer.json.
// Printable Latin-1 characters stand for themselves, the other 68 bytes are U+0100 and on, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longhaul::data {

// The spelling of one byte (1 or 2 bytes of UTF-8).
[[nodiscard]] const std::string& spelled_byte(std::uint8_t byte);

[[nodiscard]] std::string spell_bytes(std::string_view bytes);

// The bytes that a spelling stands for; nothing if it holds a character outside the alphabet.
[[nodiscard]] std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace longhaul::data
