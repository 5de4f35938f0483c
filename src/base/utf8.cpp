// One pass over the bytes, after the table of well-formed sequences of the Unicode standard.
#include "base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace longhaul {

bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<std::uint8_t>(text[i++]);
        if (first < 0x80) continue;
        if (first < 0xC2 || first > 0xF4) return false;
        const std::size_t more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
        if (text.size() - i < more) return false;
        // The first continuation byte has a narrower range where overlong forms and surrogates would begin.
        const std::uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        const std::uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        for (std::size_t k = 0; k < more; ++k) {
            const auto next = static_cast<std::uint8_t>(text[i++]);
            if (next < (k == 0 ? least : 0x80) || next > (k == 0 ? most : 0xBF)) return false;
        }
    }
    return true;
}

}  // namespace longhaul
