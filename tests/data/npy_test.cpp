// Batches from .npy files: the right ones in order, and every wrong form refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "data/npy_header.h"
#include "data/samples.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

std::string npy(const std::string& dictionary, std::size_t elements, int major = 1) {
    std::string out = "\x93NUMPY";
    out += static_cast<char>(major);
    out += '\0';
    const std::string header = dictionary + "\n";
    for (std::size_t i = 0; i < (major == 1 ? 2U : 4U); ++i)
        out += static_cast<char>(header.size() >> (8 * i));
    out += header;
    for (std::size_t i = 0; i < elements; ++i) {
        const auto value = static_cast<std::int32_t>(i);
        out.append(reinterpret_cast<const char*>(&value), 4);
    }
    return out;
}

const std::string kGood = "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2, 5), }";

std::vector<std::int32_t> read(const SampleSource& source, std::int64_t index) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(source.sequence_length() + 1));
    source.read(index, out);
    return out;
}

TEST(Npy, FixturesAreReadRowByRow) {
    const std::string path = std::string(LONGHAUL_FIXTURES) + "/gpt2-tiny/batches.npy";
    const std::string bytes = read_file(path);
    const NpyHeader header = parse_npy_header(std::as_bytes(std::span(bytes)), path);
    ASSERT_EQ(header.shape.size(), 3U);
    const auto source = open_npy(path, {.sequence = header.shape[2] - 1, .vocab = 1 << 20}, header.shape[1]);
    ASSERT_EQ(source->size(), header.shape[0] * header.shape[1]);
    for (std::int64_t i = 0; i < *source->size(); ++i) {
        const auto row = read(*source, i);
        const std::size_t offset = header.data_offset + static_cast<std::size_t>(i) * row.size() * 4;
        EXPECT_EQ(std::memcmp(row.data(), bytes.data() + offset, row.size() * 4), 0) << i;
    }
    EXPECT_THAT(message_of([&] { read(*source, *source->size()); }), HasSubstr("holds the batches of"));
}

TEST(Npy, FedInOrderAndEndsWithAnError) {
    const TempFolder folder;
    for (const int major : {1, 2, 3}) {
        const std::string path = folder.write("a.npy", npy(kGood, 30, major));
        const auto source = open_npy(path, {.sequence = 4, .seed = 9}, 2);
        EXPECT_EQ(read(*source, 0), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
        EXPECT_EQ(read(*source, 5), (std::vector<std::int32_t>{25, 26, 27, 28, 29}));
        EXPECT_THAT(message_of([&] { read(*source, 6); }), HasSubstr("3 steps, but those of step 4"));
        EXPECT_THROW(read(*source, -1), Error);
    }
}

TEST(Npy, VocabularyIsCheckedAndPaddingIsNot) {
    const TempFolder folder;
    std::string bytes = npy(kGood, 30);
    const std::int32_t padding = -100;
    std::memcpy(bytes.data() + bytes.size() - 30 * 4, &padding, 4);
    const auto source = open_npy(folder.write("a.npy", bytes), {.sequence = 4, .vocab = 27}, 2);
    EXPECT_EQ(read(*source, 0)[0], -100);
    EXPECT_THAT(message_of([&] { read(*source, 5); }),
                HasSubstr("step 2, sequence 1, position 2: token id 27"));
}

TEST(Npy, EveryOtherFormIsRefused) {
    const TempFolder folder;
    const auto refusal = [&](const std::string& bytes, std::int64_t sequence = 4, std::int64_t batch = 2) {
        const std::string path = folder.write("a.npy", bytes);
        return message_of([&] { (void)open_npy(path, {.sequence = sequence}, batch); });
    };
    const auto with = [&](const std::string& from, const std::string& to, std::size_t elements = 30) {
        std::string text = kGood;
        text.replace(text.find(from), from.size(), to);
        return npy(text, elements);
    };
    EXPECT_EQ(refusal(npy(kGood, 30)), "");
    EXPECT_THAT(refusal(""), HasSubstr("no .npy file"));
    EXPECT_THAT(refusal("PK\x03\x04 and more bytes"), HasSubstr("no .npy file"));
    EXPECT_THAT(refusal(npy(kGood, 29)), HasSubstr("it is torn"));
    EXPECT_THAT(refusal(npy(kGood, 31)), HasSubstr("needs 120 bytes"));
    EXPECT_THAT(refusal(with("<i4", ">i4")), HasSubstr("type >i4"));
    EXPECT_THAT(refusal(with("<i4", "<i8", 60)), HasSubstr("type <i8"));
    EXPECT_THAT(refusal(with("<i4", "<f4")), HasSubstr("type <f4"));
    EXPECT_THAT(refusal(with("False", "True")), HasSubstr("Fortran"));
    EXPECT_THAT(refusal(with("(3, 2, 5)", "(6, 5)")), HasSubstr("shape (6, 5)"));
    EXPECT_THAT(refusal(with("(3, 2, 5)", "(30,)")), HasSubstr("shape (30)"));
    EXPECT_THAT(refusal(with("(3, 2, 5)", "()", 1)), HasSubstr("shape ()"));
    EXPECT_THAT(refusal(with("(3, 2, 5)", "(0, 2, 5)", 0)), HasSubstr("holds no tokens"));
    EXPECT_THAT(refusal(with("(3, 2, 5)", "(-3, 2, 5)")), HasSubstr("not understood"));
    EXPECT_THAT(refusal(with("(3, 2, 5)", "(4611686018427387904, 4611686018427387904, 5)")),
                HasSubstr("larger than any file"));
    EXPECT_THAT(refusal(with("'shape'", "'shapes'")), HasSubstr("not understood"));
    EXPECT_THAT(refusal(npy("{'descr': '<i4', 'fortran_order': False, }", 0)), HasSubstr("not understood"));
    EXPECT_THAT(refusal(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", 1)),
                HasSubstr("not understood"));
    EXPECT_THAT(refusal(npy(kGood, 30), 5), HasSubstr("rows of 5 tokens"));
    EXPECT_THAT(refusal(npy(kGood, 30), 4, 3), HasSubstr("2 sequences a step, but the global batch is 3"));
    const std::string whole = npy(kGood, 30);
    for (std::size_t size = 0; size < whole.size(); size += 1)
        EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace longhaul::data
