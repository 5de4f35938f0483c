// Lengths after table 3-7 of the Unicode standard (well-formed UTF-8 byte sequences).
#include "base/utf8.h"

namespace longhaul {

namespace {

constexpr unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

// Length that the first byte announces, and the range of the second.
struct Lead {
    std::size_t length = 0;
    unsigned low = 0x80;
    unsigned high = 0xBF;
};

constexpr Lead lead_of(unsigned byte) {
    if (byte < 0x80) return {1};
    if (byte < 0xC2) return {0};
    if (byte < 0xE0) return {2};
    if (byte < 0xF0) return {3, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU};
    if (byte < 0xF5) return {4, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU};
    return {0};
}

// Continuation bytes that are there and fit, and the first byte.
std::size_t matching_bytes(std::string_view text, std::size_t at, const Lead& lead) {
    std::size_t n = 1;
    while (n < lead.length && at + n < text.size()) {
        const unsigned byte = byte_at(text, at + n);
        const bool fits = n == 1 ? byte >= lead.low && byte <= lead.high : (byte & 0xC0U) == 0x80;
        if (!fits) break;
        ++n;
    }
    return n;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const Lead lead = lead_of(byte_at(text, at));
    if (lead.length <= 1) return lead.length;
    return matching_bytes(text, at, lead) == lead.length ? lead.length : 0;
}

char32_t utf8_code_point(std::string_view character) {
    const unsigned first = byte_at(character, 0);
    if (character.size() == 1) return first;
    char32_t value = first & (0x7FU >> character.size());
    for (std::size_t i = 1; i < character.size(); ++i) value = value << 6U | (byte_at(character, i) & 0x3FU);
    return value;
}

void append_utf8(std::string& out, char32_t code_point) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code_point < 0x80) {
        put(code_point);
        return;
    }
    if (code_point < 0x800) {
        put(0xC0 | code_point >> 6U);
    } else if (code_point < 0x10000) {
        put(0xE0 | code_point >> 12U);
        put(0x80 | (code_point >> 6U & 0x3FU));
    } else {
        put(0xF0 | code_point >> 18U);
        put(0x80 | (code_point >> 12U & 0x3FU));
        put(0x80 | (code_point >> 6U & 0x3FU));
    }
    put(0x80 | (code_point & 0x3FU));
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

std::size_t unfinished_utf8(std::string_view text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const std::size_t at = text.size() - back;
        if ((byte_at(text, at) & 0xC0U) == 0x80) continue;
        const Lead lead = lead_of(byte_at(text, at));
        return lead.length > back && matching_bytes(text, at, lead) == back ? back : 0;
    }
    return 0;
}

}  // namespace longhaul
