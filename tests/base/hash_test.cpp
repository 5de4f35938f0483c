// XXH3 against published values; one hash however the bytes come.
#include "base/hash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace longhaul {
namespace {

TEST(Hash, KnownAnswersOfXxh3) {
    EXPECT_EQ(hash64(""), 0x2d06800538d394c2ULL);
    EXPECT_EQ(hash64("a"), 0xe6c632b61e964e1fULL);
    EXPECT_EQ(hash64("abc"), 0x78af5f94892f3950ULL);
}

// 240 is where XXH3 changes its algorithm.
TEST(Hash, StreamedEqualsAtOnce) {
    std::vector<std::byte> bytes(5000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 + i / 7);
    for (const std::size_t size : {0U, 1U, 16U, 17U, 128U, 129U, 240U, 241U, 1024U, 5000U}) {
        const auto part = std::span(std::as_const(bytes)).first(size);
        for (const std::size_t piece : {1U, 7U, 256U, 5000U}) {
            Hasher hasher;
            for (std::size_t at = 0; at < size; at += piece)
                hasher.update(part.subspan(at, std::min(piece, size - at)));
            EXPECT_EQ(hasher.digest(), hash64(part)) << size << " by " << piece;
        }
    }
}

TEST(Hash, SeedAndEveryByteCount) {
    std::string text(300, 'x');
    std::set<std::uint64_t> seen{hash64(text), hash64(text, 1), hash64(text, 2)};
    EXPECT_EQ(seen.size(), 3U);
    for (char& c : text) {
        c = 'y';
        EXPECT_TRUE(seen.insert(hash64(text)).second);
        c = 'x';
    }
}

TEST(Hash, DigestLeavesTheStreamOpen) {
    Hasher hasher;
    const std::string text = "abc";
    hasher.update(std::as_bytes(std::span(text).first(1)));
    EXPECT_EQ(hasher.digest(), hash64("a"));
    hasher.update(std::as_bytes(std::span(text).subspan(1)));
    EXPECT_EQ(hasher.digest(), hash64("abc"));
}

TEST(Hash, HexHasSixteenDigits) {
    EXPECT_EQ(hash_hex(0), "0000000000000000");
    EXPECT_EQ(hash_hex(0xABCULL), "0000000000000abc");
    EXPECT_EQ(hash_hex(~0ULL), "ffffffffffffffff");
}

}  // namespace
}  // namespace longhaul
