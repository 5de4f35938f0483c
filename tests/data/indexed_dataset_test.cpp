// Packed data sets: Megatron's files read and written byte for byte; torn and hostile ones refused.
#include "data/indexed_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/indexed_writer.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

const std::string kFolder = std::string(LONGHAUL_FIXTURES) + "/megatron_dataset/";

nlohmann::json golden() {
    return nlohmann::json::parse(read_file(kFolder + "golden.json"));
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, ReadsTheDocuments) {
    const nlohmann::json documents = golden().at(GetParam());
    const IndexedDataset dataset(kFolder + GetParam());
    EXPECT_TRUE(dataset.index().contiguous());
    EXPECT_STREQ(token_type_name(dataset.index().type()), GetParam());
    ASSERT_EQ(dataset.index().documents(), static_cast<std::int64_t>(documents.size()));
    std::int64_t sequence = 0;
    std::vector<std::int32_t> all;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        ASSERT_EQ(dataset.index().document_begin(static_cast<std::int64_t>(d)), sequence);
        std::vector<std::int32_t> whole;
        for (const auto& ids : documents[d]) {
            const auto expected = ids.get<std::vector<std::int32_t>>();
            EXPECT_EQ(dataset.sequence(sequence), expected);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const auto token = static_cast<std::int64_t>(all.size() + i);
                EXPECT_EQ(dataset.index().sequence_of(token), sequence);
                EXPECT_EQ(dataset.index().document_of(sequence), static_cast<std::int64_t>(d));
            }
            all.insert(all.end(), expected.begin(), expected.end());
            whole.insert(whole.end(), expected.begin(), expected.end());
            ++sequence;
        }
        EXPECT_EQ(dataset.document(static_cast<std::int64_t>(d)), whole);
    }
    EXPECT_EQ(dataset.index().sequences(), sequence);
    std::vector<std::int32_t> read(all.size());
    dataset.read(0, read);
    EXPECT_EQ(read, all);
    dataset.read(17, std::span(read).first(100));
    EXPECT_TRUE(std::equal(read.begin(), read.begin() + 100, all.begin() + 17));
}

TEST_P(Golden, WritesTheSameBytes) {
    const TempFolder folder;
    const std::string type = GetParam();
    IndexedWriter writer(folder / type, type == "uint16" ? TokenType::u16 : TokenType::i32);
    const nlohmann::json documents = golden().at(type);
    for (const auto& document : documents) {
        for (const auto& ids : document) {
            const auto tokens = ids.get<std::vector<std::int32_t>>();
            // In two halves: a sequence may arrive in pieces.
            const auto half = tokens.size() / 2;
            writer.append(std::span(tokens).first(half));
            writer.append(std::span(tokens).subspan(half));
            writer.end_sequence();
        }
        writer.end_document();
    }
    EXPECT_FALSE(std::filesystem::exists(folder / type + ".bin"));
    writer.commit_tokens();
    EXPECT_FALSE(std::filesystem::exists(folder / type + ".idx"));
    writer.commit_index();
    for (const char* end : {".bin", ".idx"}) {
        EXPECT_TRUE(read_file(folder / type + end) == read_file(kFolder + type + end)) << end;
    }
    EXPECT_EQ(folder.names().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Types, Golden, testing::Values("uint16", "int32"));

TEST(IndexedWriter, LeavesNothingWithoutCommit) {
    const TempFolder folder;
    {
        IndexedWriter writer(folder / "x", TokenType::u16);
        writer.append(std::vector<std::int32_t>(3000000, 7));
        writer.end_document();
    }
    EXPECT_TRUE(folder.names().empty());
}

TEST(IndexedWriter, ReplacesAnIndexOnlyTogetherWithItsTokens) {
    const TempFolder folder;
    const auto write = [&](int count, bool index) {
        IndexedWriter writer(folder / "x", TokenType::u16);
        writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(count), 1));
        writer.end_document();
        writer.commit_tokens();
        if (index) writer.commit_index();
    };
    write(10, true);
    EXPECT_EQ(IndexedDataset(folder / "x").index().tokens(), 10);
    write(20, false);  // a failure between the two renames
    EXPECT_TRUE(folder.names().empty());
    write(20, true);
    std::filesystem::remove(folder / "x.idx");  // a kill between them
    EXPECT_THAT(message_of([&] { IndexedDataset(folder / "x"); }), HasSubstr("not written to its end"));
    write(30, true);
    EXPECT_EQ(IndexedDataset(folder / "x.idx").index().tokens(), 30);
}

TEST(IndexedWriter, RefusesTokensThatDoNotFit) {
    const TempFolder folder;
    IndexedWriter writer(folder / "x", TokenType::u16);
    EXPECT_THAT(message_of([&] { writer.append(std::vector<std::int32_t>{1, 65536}); }), HasSubstr("65536"));
    EXPECT_THAT(message_of([&] { writer.append(std::vector<std::int32_t>{-1}); }), HasSubstr("-1"));
}

TEST(IndexedWriter, FailsByNameWhereItCannotWrite) {
    EXPECT_THAT(message_of([] { IndexedWriter("/nonexistent-folder/x", TokenType::u16); }),
                HasSubstr("nonexistent-folder"));
}

TEST(TokenType, FollowsMegatronsRule) {
    EXPECT_EQ(token_type_for(257), TokenType::u16);
    EXPECT_EQ(token_type_for(65499), TokenType::u16);
    EXPECT_EQ(token_type_for(65500), TokenType::i32);
    EXPECT_EQ(token_type_for(200000), TokenType::i32);
}

// Builds .idx files with any fault.
struct IndexBytes {
    std::uint64_t version = 1;
    std::uint8_t type = 4;
    std::vector<std::int32_t> sizes;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> documents;
    std::uint64_t sequences_claimed = 0;
    std::uint64_t documents_claimed = 0;

    [[nodiscard]] std::string bytes() const {
        std::string out("MMIDIDX\0\0", 9);
        const auto add = [&](const void* from, std::size_t size) {
            if (size > 0) out.append(static_cast<const char*>(from), size);
        };
        const std::uint64_t sequences = sequences_claimed != 0 ? sequences_claimed : sizes.size();
        const std::uint64_t ends = documents_claimed != 0 ? documents_claimed : documents.size();
        add(&version, 8);
        add(&type, 1);
        add(&sequences, 8);
        add(&ends, 8);
        add(sizes.data(), sizes.size() * 4);
        add(offsets.data(), offsets.size() * 8);
        add(documents.data(), documents.size() * 8);
        return out;
    }
};

IndexBytes good() {
    return {.sizes = {2, 0, 3}, .offsets = {0, 8, 8}, .documents = {0, 2, 3}};
}

std::string open(const std::string& index, std::size_t bin_bytes) {
    const std::vector<std::byte> tokens(bin_bytes);
    return message_of([&] { IndexedDataset(std::as_bytes(std::span(index)), tokens, "mem"); });
}

std::string open(const IndexBytes& index, std::size_t bin_bytes = 20) {
    return open(index.bytes(), bin_bytes);
}

TEST(DatasetIndex, AcceptsEmptySequencesAndDocuments) {
    EXPECT_EQ(open(good()), "");
    IndexBytes empty;
    empty.documents = {0};
    EXPECT_EQ(open(empty, 0), "");
    IndexBytes hollow;
    hollow.documents = {0, 0, 0};
    EXPECT_EQ(open(hollow, 0), "");
}

TEST(DatasetIndex, FindsTokensAcrossEmptySequences) {
    const std::string index = good().bytes();
    const std::vector<std::byte> tokens(20);
    const IndexedDataset dataset(std::as_bytes(std::span(index)), tokens, "mem");
    EXPECT_EQ(dataset.index().sequence_of(1), 0);
    EXPECT_EQ(dataset.index().sequence_of(2), 2);
    EXPECT_EQ(dataset.locate(4), "document 1 (token 2 of it)");
}

TEST(DatasetIndex, EveryTruncationIsRefused) {
    const std::string whole = good().bytes();
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_NE(open(whole.substr(0, size), 20), "") << size << " bytes";
    EXPECT_THAT(open(whole + "x", 20), HasSubstr("1 bytes follow"));
    EXPECT_THAT(open(whole + "xyz", 20), HasSubstr("multimodal"));
}

TEST(DatasetIndex, NamesEachFault) {
    IndexBytes index = good();
    index.version = 2;
    EXPECT_THAT(open(index), HasSubstr("offset 9: version 2"));
    for (const int code : {0, 6, 7, 9, 255}) {
        index = good();
        index.type = static_cast<std::uint8_t>(code);
        EXPECT_THAT(open(index), HasSubstr("offset 17"));
    }
    index = good();
    index.sizes[2] = -3;
    EXPECT_THAT(open(index), HasSubstr("sequence 2 has -3 tokens"));
    index = good();
    index.offsets[2] = 9;
    EXPECT_THAT(open(index), HasSubstr("sequence 2, 3 tokens from byte 9"));
    index = good();
    index.offsets[0] = -8;
    EXPECT_THAT(open(index), HasSubstr("mem.idx: offset 46: sequence 0"));
    index = good();
    index.offsets[2] = std::numeric_limits<std::int64_t>::max() - 3;
    EXPECT_THAT(open(index), HasSubstr("sequence 2"));
    index = good();
    index.documents = {0, 3, 2};
    EXPECT_THAT(open(index), HasSubstr("document 2 begins"));
    index.documents = {1, 2, 3};
    EXPECT_THAT(open(index), HasSubstr("document 0 begins"));
    index.documents = {0, 1, 2};
    EXPECT_THAT(open(index), HasSubstr("the documents end at sequence 2 of 3"));
    index.documents = {0, 4, 3};
    EXPECT_THAT(open(index), HasSubstr("document 1"));
    EXPECT_THAT(open(good(), 24), HasSubstr("describes 20 bytes"));
    EXPECT_THAT(open(good(), 16), HasSubstr("does not lie within the 16 bytes"));
}

TEST(DatasetIndex, HugeCountsDoNotOverflow) {
    for (const std::uint64_t count : {std::uint64_t{1} << 62U, std::uint64_t{1} << 63U, ~std::uint64_t{0},
                                      (~std::uint64_t{0} / 12) + 1, std::uint64_t{3}}) {
        IndexBytes index = good();
        index.sequences_claimed = count;
        if (count != 3) {
            EXPECT_THAT(open(index), HasSubstr("torn"));
        }
        index = good();
        index.documents_claimed = count == 3 ? 4 : count;
        EXPECT_THAT(open(index), HasSubstr("torn"));
    }
}

TEST(IndexedDataset, ReadsSequencesThatAreNotInOrder) {
    IndexBytes index;
    index.type = 8;
    index.sizes = {2, 3, 1};
    index.offsets = {6, 0, 2};  // the last overlaps: it is legal, though nobody writes it
    index.documents = {0, 1, 3};
    const std::string bytes = index.bytes();
    const std::vector<std::uint16_t> stored{10, 11, 12, 13, 65535};
    const IndexedDataset dataset(std::as_bytes(std::span(bytes)), std::as_bytes(std::span(stored)), "mem");
    EXPECT_FALSE(dataset.index().contiguous());
    EXPECT_EQ(dataset.index().tokens(), 6);
    const std::vector<std::int32_t> all{13, 65535, 10, 11, 12, 11};
    for (std::size_t begin = 0; begin <= all.size(); ++begin) {
        for (std::size_t end = begin; end <= all.size(); ++end) {
            std::vector<std::int32_t> out(end - begin);
            dataset.read(static_cast<std::int64_t>(begin), out);
            EXPECT_EQ(out, std::vector<std::int32_t>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                                     all.begin() + static_cast<std::ptrdiff_t>(end)));
        }
    }
    EXPECT_EQ(dataset.document(1), (std::vector<std::int32_t>{10, 11, 12, 11}));
}

template <typename T>
std::vector<std::int32_t> through(std::uint8_t code, const std::vector<T>& stored) {
    IndexBytes index;
    index.type = code;
    index.sizes = {static_cast<std::int32_t>(stored.size())};
    index.offsets = {0};
    index.documents = {0, 1};
    const std::string bytes = index.bytes();
    return IndexedDataset(std::as_bytes(std::span(bytes)), std::as_bytes(std::span(stored)), "mem")
        .document(0);
}

TEST(IndexedDataset, ReadsEveryIntegerType) {
    using Ids = std::vector<std::int32_t>;
    EXPECT_EQ(through<std::uint8_t>(1, {0, 255}), (Ids{0, 255}));
    EXPECT_EQ(through<std::int8_t>(2, {-1, 127}), (Ids{-1, 127}));
    EXPECT_EQ(through<std::int16_t>(3, {-2, 32767}), (Ids{-2, 32767}));
    EXPECT_EQ(through<std::int32_t>(4, {5, 2147483647}), (Ids{5, 2147483647}));
    EXPECT_EQ(through<std::int64_t>(5, {6, 2147483647}), (Ids{6, 2147483647}));
    EXPECT_EQ(through<std::uint16_t>(8, {0, 65535}), (Ids{0, 65535}));
    EXPECT_THAT(message_of([] {
                    through<std::int64_t>(5, {6, 2147483648});
                }),
                HasSubstr("mem.bin: offset 8"));
}

TEST(IndexedDataset, NamesMissingAndTornFiles) {
    const TempFolder folder;
    EXPECT_THAT(message_of([&] { IndexedDataset(folder / "x"); }), HasSubstr("x.idx is missing"));
    folder.write("x.idx", read_file(kFolder + "int32.idx"));
    EXPECT_THAT(message_of([&] { IndexedDataset(folder / "x"); }), HasSubstr("x.bin is missing"));
    const std::string tokens = read_file(kFolder + "int32.bin");
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, tokens.size() / 2, tokens.size() - 1}) {
        folder.write("x.bin", tokens.substr(0, cut));
        EXPECT_THAT(message_of([&] { IndexedDataset(folder / "x"); }), HasSubstr("x.idx")) << cut;
    }
    folder.write("x.bin", tokens + "0000");
    EXPECT_THAT(message_of([&] { IndexedDataset(folder / "x"); }),
                HasSubstr("torn or belongs to other data"));
    folder.write("x.bin", tokens);
    EXPECT_EQ(message_of([&] { IndexedDataset(folder / "x"); }), "");
    folder.write("x.idx", "");
    EXPECT_THAT(message_of([&] { IndexedDataset(folder / "x"); }), HasSubstr("0 bytes are no .idx file"));
}

TEST(IndexedDataset, FingerprintFollowsContentNotName) {
    const TempFolder folder;
    std::string tokens = read_file(kFolder + "int32.bin");
    for (const char* name : {"a", "b"}) {
        folder.write(name + std::string(".idx"), read_file(kFolder + "int32.idx"));
        folder.write(name + std::string(".bin"), tokens);
    }
    EXPECT_EQ(IndexedDataset(folder / "a").fingerprint(), IndexedDataset(folder / "b").fingerprint());
    tokens[1000] = static_cast<char>(tokens[1000] ^ 1);
    folder.write("b.bin", tokens);
    EXPECT_NE(IndexedDataset(folder / "a").fingerprint(), IndexedDataset(folder / "b").fingerprint());
}

TEST(ContentFingerprint, SeesSizeAndEndsOfLargeFiles) {
    std::vector<std::byte> bytes((std::size_t{64} << 20U) + 5000);
    const std::uint64_t before = content_fingerprint(bytes);
    bytes.back() = std::byte{1};
    EXPECT_NE(content_fingerprint(bytes), before);
    bytes.back() = std::byte{0};
    EXPECT_EQ(content_fingerprint(bytes), before);
    EXPECT_NE(content_fingerprint(std::span(bytes).first(bytes.size() - 1)), before);
    bytes.front() = std::byte{1};
    EXPECT_NE(content_fingerprint(bytes), before);
}

}  // namespace
}  // namespace longhaul::data
