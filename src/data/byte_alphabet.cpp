// The alphabet, built once.
#include "data/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace longhaul::data {

namespace {

constexpr std::size_t kCharacters = 0x144;  // U+0000 to U+0143

struct Alphabet {
    std::array<std::string, 256> spelling;
    std::array<std::int16_t, kCharacters> byte;

    Alphabet() {
        byte.fill(-1);
        char32_t next = 0x100;
        for (int b = 0; b < 256; ++b) {
            const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
            const char32_t character = printable ? static_cast<char32_t>(b) : next++;
            append_utf8(spelling[static_cast<std::size_t>(b)], character);
            byte[character] = static_cast<std::int16_t>(b);
        }
    }
};

const Alphabet& alphabet() {
    static const Alphabet instance;
    return instance;
}

}  // namespace

const std::string& spelled_byte(std::uint8_t byte) {
    return alphabet().spelling[byte];
}

std::string spell_bytes(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) out += spelled_byte(static_cast<std::uint8_t>(c));
    return out;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
    std::string out;
    for (std::size_t at = 0; at < spelling.size();) {
        const std::size_t length = utf8_length(spelling, at);
        if (length == 0) return std::nullopt;
        const char32_t character = utf8_code_point(spelling.substr(at, length));
        if (character >= kCharacters || alphabet().byte[character] < 0) return std::nullopt;
        out.push_back(static_cast<char>(alphabet().byte[character]));
        at += length;
    }
    return out;
}

}  // namespace longhaul::data
