// UTF-8 against an encoder: every code point is taken, and each way to spoil a sequence is not.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace longhaul {
namespace {

// Encodes in `bytes` bytes, also where fewer would do or the value is no code point.
std::string encode(std::uint32_t point, int bytes) {
    if (bytes == 1) return {static_cast<char>(point)};
    std::string text;
    for (int i = 0; i + 1 < bytes; ++i) {
        text.insert(text.begin(), static_cast<char>(0x80U | (point & 0x3FU)));
        point >>= 6U;
    }
    const std::uint32_t mark = bytes == 2 ? 0xC0U : bytes == 3 ? 0xE0U : 0xF0U;
    return static_cast<char>(mark | point) + text;
}

int shortest(std::uint32_t point) {
    return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

TEST(Utf8, TakesEveryCodePointInItsShortestFormAndNoOther) {
    for (std::uint32_t point = 0; point <= 0x110FFF; ++point) {
        const bool exists = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        for (int bytes = shortest(point); bytes <= 4; ++bytes)
            ASSERT_EQ(is_utf8(encode(point, bytes)), exists && bytes == shortest(point))
                << point << " " << bytes;
    }
}

TEST(Utf8, RefusesTornSequences) {
    EXPECT_TRUE(is_utf8(""));
    EXPECT_TRUE(is_utf8("a\u00e9\u6f22\U0001F642z"));
    for (const std::uint32_t point : {0xE9U, 0x6F22U, 0x1F642U}) {
        const std::string whole = encode(point, shortest(point));
        for (std::size_t keep = 1; keep < whole.size(); ++keep) {
            EXPECT_FALSE(is_utf8(whole.substr(0, keep)));
            EXPECT_FALSE(is_utf8(whole.substr(0, keep) + "a"));
            EXPECT_FALSE(is_utf8(whole.substr(keep)));
        }
    }
    EXPECT_FALSE(is_utf8("\xf8\x88\x80\x80\x80"));
}

}  // namespace
}  // namespace longhaul
