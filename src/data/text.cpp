// Character classes by utf8proc's categories.
#include "data/text.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace longhaul::data {

std::size_t space_length(std::string_view text, std::size_t at) {
    const std::size_t length = at < text.size() ? utf8_length(text, at) : 0;
    if (length == 0) return 0;
    const char32_t c = utf8_code_point(text.substr(at, length));
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    const bool separator = category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
                           category == UTF8PROC_CATEGORY_ZP;
    return separator || (c >= 9 && c <= 13) || c == 0x85 ? length : 0;
}

bool is_word_character(std::string_view character) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(utf8_code_point(character)))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            return false;
    }
}

std::string replace_all(std::string_view text, std::string_view what, std::string_view by) {
    std::string out;
    std::size_t done = 0;
    if (!what.empty()) {
        for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, done)) {
            out += text.substr(done, at - done);
            out += by;
            done = at + what.size();
        }
    }
    return out += text.substr(done);
}

}  // namespace longhaul::data
