// Packing: the tokens of every document in order for any number of threads, held-out parts, and all or
// nothing when it fails.
#include "data/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "byte_tokenizer.h"
#include "data/dataset_meta.h"
#include "data/indexed_dataset.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using test::ByteTokenizer;
using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

PackOptions options(const TempFolder& folder, std::vector<std::string> inputs) {
    PackOptions out;
    out.prefix = folder / "out";
    out.inputs = std::move(inputs);
    out.end_of_document = 256;
    out.threads = 2;
    return out;
}

// Documents of a data set as text, "<end>" for the end-of-document token.
std::vector<std::string> contents(const std::string& prefix) {
    const IndexedDataset dataset(prefix);
    std::vector<std::string> out;
    for (std::int64_t d = 0; d < dataset.index().documents(); ++d)
        out.push_back(ByteTokenizer().decode(dataset.document(d)));
    return out;
}

std::string gzip(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(text.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string some_text(int lines) {
    std::string text;
    for (int i = 0; i < lines; ++i)
        text += fmt::format("Line {} of some text, {}{}", i,
                            std::string(static_cast<std::size_t>(static_cast<std::int64_t>(i) * i % 60), 'x'),
                            i % 5 == 0 ? "\n\n" : "\n");
    return text;
}

TEST(Pack, FilesOfAllKindsInOrder) {
    const TempFolder folder;
    const std::vector<std::string> inputs{
        folder.write("1.txt", "plain\r\n"),
        folder.write("2.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"\"}\r\n{\"text\": \"t\\u0077o\"}"),
        folder.write("3.txt.gz", gzip("squeezed")),
        folder.write("4.jsonl.gz", gzip("{\"text\": \"three\"}\n")),
        folder.write("5.txt", ""),
        folder.write("6.txt", "x"),
    };
    const PackSummary summary = pack(ByteTokenizer(), options(folder, inputs));
    EXPECT_THAT(contents(folder / "out"), ElementsAre("plain\r\n<end>", "one<end>", "two<end>",
                                                      "squeezed<end>", "three<end>", "x<end>"));
    ASSERT_EQ(summary.parts.size(), 1U);
    EXPECT_EQ(summary.parts[0].documents, 6);
    EXPECT_EQ(summary.parts[0].tokens, 27 + 6);
    EXPECT_EQ(summary.parts[0].text_bytes, 27);
    EXPECT_EQ(summary.empty, 1);
    EXPECT_EQ(summary.skipped, 0);
    EXPECT_STREQ(summary.type, "uint16");
    EXPECT_THAT(folder.names(), testing::IsSupersetOf({"out.bin", "out.idx", "out.meta.json"}));
    EXPECT_EQ(folder.names().size(), inputs.size() + 3);

    const auto meta = read_meta(IndexedDataset(folder / "out"));
    ASSERT_TRUE(meta.has_value());
    EXPECT_EQ(meta->tokenizer_fingerprint, 0xabcdefU);
    EXPECT_EQ(meta->vocab, 257);
    EXPECT_EQ(meta->end_of_document, 256);
    EXPECT_EQ(meta->role, "all");
    EXPECT_EQ(meta->sources, inputs);
}

TEST(Pack, WithoutEndTokensAndWithWideOnes) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("1.txt", "ab"), folder.write("2.txt", "cd")});
    o.end_of_document.reset();
    EXPECT_STREQ(pack(ByteTokenizer(70000), o).type, "int32");
    EXPECT_THAT(contents(folder / "out"), ElementsAre("ab", "cd"));
    EXPECT_FALSE(read_meta(IndexedDataset(folder / "out"))->end_of_document.has_value());
}

TEST(Pack, SameBytesForAnyNumberOfThreads) {
    const TempFolder folder;
    std::string json;
    for (int i = 0; i < 9000; ++i)
        json += fmt::format("{{\"text\": \"document {} {}\"}}\n", i,
                            std::string(static_cast<std::size_t>(i % 301), 'y'));
    PackOptions o = options(folder, {folder.write("a.txt", some_text(60000)), folder.write("b.jsonl", json)});
    o.validation_fraction = 0.1;
    o.separator = Separator::parse("blank-lines");
    ByteTokenizer tokenizer;
    tokenizer.jitter = true;
    std::set<std::string> results;
    for (const int threads : {1, 2, 4, 9}) {
        o.threads = threads;
        pack(tokenizer, o);
        std::string all;
        for (const char* name : {"out.bin", "out.idx", "out.meta.json", "out-validation.bin",
                                 "out-validation.idx", "out-validation.meta.json"})
            all += read_file(folder / name);
        results.insert(all);
    }
    EXPECT_EQ(results.size(), 1U);
}

TEST(Pack, LongDocumentsAreEncodedInPiecesAndKeptWhole) {
    const TempFolder folder;
    const std::string text = some_text(60000);  // about 3.5 MB
    const PackOptions o = options(folder, {folder.write("a.txt", text)});
    const ByteTokenizer tokenizer;
    pack(tokenizer, o);
    EXPECT_LT(tokenizer.longest, 1500000U);
    EXPECT_GT(tokenizer.longest, 500000U);
    const auto documents = contents(folder / "out");
    ASSERT_EQ(documents.size(), 1U);
    EXPECT_TRUE(documents[0] == text + "<end>");
    EXPECT_EQ(IndexedDataset(folder / "out").index().sequences(), 1);
}

TEST(Pack, HeldOutDocumentsAndTheRestAreTheWhole) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("a.txt", some_text(4996))});
    o.separator = Separator::parse("blank-lines");
    pack(ByteTokenizer(), o);
    const auto whole = contents(folder / "out");
    ASSERT_EQ(whole.size(), 1000U);
    o.validation_fraction = 0.02;
    const PackSummary summary = pack(ByteTokenizer(), o);
    ASSERT_EQ(summary.parts.size(), 2U);
    EXPECT_EQ(summary.parts[1].prefix, folder / "out-validation");
    EXPECT_EQ(summary.parts[1].documents, 20);
    EXPECT_EQ(summary.parts[0].documents, 980);
    const auto train = contents(folder / "out");
    const auto held = contents(folder / "out-validation");
    std::size_t t = 0;
    std::size_t h = 0;
    for (const std::string& document : whole) {
        if (h < held.size() && held[h] == document) {
            ++h;
        } else {
            ASSERT_EQ(train.at(t++), document);
        }
    }
    EXPECT_EQ(h, held.size());
    EXPECT_EQ(read_meta(IndexedDataset(folder / "out"))->role, "train");
    EXPECT_EQ(read_meta(IndexedDataset(folder / "out-validation"))->role, "validation");
}

TEST(Pack, OneLongDocumentIsHeldOutInPieces) {
    const TempFolder folder;
    const std::string text = some_text(60000);
    PackOptions o = options(folder, {folder.write("a.txt", text)});
    o.validation_fraction = 0.1;
    const PackSummary summary = pack(ByteTokenizer(), o);
    const double share = static_cast<double>(summary.parts[1].text_bytes) / static_cast<double>(text.size());
    EXPECT_NEAR(share, 0.1, 0.03);
    // Cut out of the text where they lie, the held-out pieces leave the training documents.
    std::string rest = text;
    for (std::string piece : contents(folder / "out-validation")) {
        piece.resize(piece.size() - 5);
        const std::size_t at = rest.find(piece);
        ASSERT_NE(at, std::string::npos);
        rest.replace(at, piece.size(), 1, '\1');
    }
    std::string train;
    for (std::string document : contents(folder / "out")) {
        EXPECT_TRUE(document.ends_with("<end>"));
        train += document.substr(0, document.size() - 5) + "\1";
    }
    std::string expected;
    for (const char c : rest)
        if (c != '\1' || !expected.ends_with('\1')) expected += c;
    if (expected.starts_with('\1')) expected.erase(0, 1);
    if (!expected.ends_with('\1')) expected += '\1';
    EXPECT_TRUE(train == expected);
}

TEST(Pack, HeldOutUnitsAreExactlyTheShare) {
    for (const double fraction : {0.5, 0.3, 0.1, 0.02, 1e-3}) {
        int held = 0;
        int longest_gap = 0;
        int gap = 0;
        for (int n = 0; n < 100000; ++n) {
            if (is_held_out(n, fraction)) {
                ++held;
                gap = 0;
            }
            longest_gap = std::max(longest_gap, ++gap);
            ASSERT_LE(std::abs(held - (n + 1) * fraction), 1.0) << n;
        }
        EXPECT_GT(longest_gap, 1 / fraction) << "places are drawn, not periodic";
    }
}

TEST(Pack, TooFewDocumentsToHoldOutIsAnError) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("a.txt", "short")});
    o.validation_fraction = 0.01;
    EXPECT_THAT(message_of([&] { pack(ByteTokenizer(), o); }), HasSubstr("too few to hold out"));
    EXPECT_THAT(folder.names(), ElementsAre("a.txt"));
    o.validation_fraction = 0.6;
    EXPECT_THROW(pack(ByteTokenizer(), o), Error);
}

const std::string kBroken =
    "{\"text\": \"good\"}\n{\"text\": \"cut\n{\"body\": 1}\n{\"text\": 7}\n{\"text\": \"\xff\"}\n{\"text\": "
    "\"last\"}\n";

TEST(Pack, StopsAtTheFirstBrokenLine) {
    const TempFolder folder;
    const std::string path = folder.write("a.jsonl", kBroken);
    const PackOptions o = options(folder, {path});
    try {
        pack(ByteTokenizer(), o);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_data);
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr(path + ":2: not valid JSON"), HasSubstr("--on-error skip")));
    }
    EXPECT_THAT(folder.names(), ElementsAre("a.jsonl"));
}

TEST(Pack, SkipsAndCountsBrokenLines) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("a.jsonl", kBroken)});
    o.skip_errors = true;
    EXPECT_EQ(pack(ByteTokenizer(), o).skipped, 4);
    EXPECT_THAT(contents(folder / "out"), ElementsAre("good<end>", "last<end>"));
    o.inputs = {folder.write("b.jsonl", "broken\nbroken\n")};
    EXPECT_THAT(message_of([&] { pack(ByteTokenizer(), o); }), HasSubstr("2 broken lines were left out"));
    // What was there before the failed run is still there.
    EXPECT_THAT(contents(folder / "out"), ElementsAre("good<end>", "last<end>"));
}

TEST(Pack, LinesBeyondTheLimitAreFaults) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("a.jsonl", "{\"text\": \"" + std::string(100000, 'x') +
                                                                 "\"}\n{\"text\": \"y\"}")});
    o.max_line_bytes = 1000;
    EXPECT_THAT(message_of([&] { pack(ByteTokenizer(), o); }),
                HasSubstr("a.jsonl:1: a line of more than 1000 bytes"));
    o.skip_errors = true;
    pack(ByteTokenizer(), o);
    EXPECT_THAT(contents(folder / "out"), ElementsAre("y<end>"));
}

TEST(Pack, NoTextIsAnError) {
    const TempFolder folder;
    for (const char* content : {"", "\n", "{\"text\": \"\"}\n"})
        EXPECT_THAT(
            message_of([&] { pack(ByteTokenizer(), options(folder, {folder.write("a.jsonl", content)})); }),
            HasSubstr("no text in the input"));
    EXPECT_THAT(folder.names(), ElementsAre("a.jsonl"));
    EXPECT_THROW(pack(ByteTokenizer(), options(folder, {})), Error);
}

TEST(Pack, FailuresOfInputsLeaveNothing) {
    const TempFolder folder;
    const std::string good = folder.write("good.txt", some_text(20000));
    const std::string squeezed = gzip(some_text(20000));
    std::string flipped = squeezed;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
    const std::vector<std::string> bad{
        folder.write("torn.gz", squeezed.substr(0, squeezed.size() / 2)),
        folder.write("tail.gz", squeezed.substr(0, squeezed.size() - 4)),
        folder.write("flipped.gz", flipped),
        folder / "missing.txt",
        folder / "",
    };
    const std::size_t files = folder.names().size();
    for (const std::string& path : bad) {
        EXPECT_THAT(message_of([&] {
                        pack(ByteTokenizer(), options(folder, {good, path}));
                    }),
                    HasSubstr(path));
        EXPECT_EQ(folder.names().size(), files) << path;
    }
}

TEST(Pack, TheFirstFaultInOrderIsReported) {
    const TempFolder folder;
    const std::string json = folder.write("a.jsonl", some_text(0) + "{\"text\": \"fine\"}\nbroken\n");
    const std::string torn = folder.write("b.gz", gzip(some_text(20000)).substr(0, 5000));
    for (int i = 0; i < 10; ++i) {
        EXPECT_THAT(message_of([&] {
                        pack(ByteTokenizer(), options(folder, {json, torn}));
                    }),
                    HasSubstr("a.jsonl:2"));
        EXPECT_THAT(message_of([&] {
                        pack(ByteTokenizer(), options(folder, {torn, json}));
                    }),
                    HasSubstr("b.gz"));
    }
}

TEST(Pack, FailuresOfTheTokenizerLeaveNothing) {
    const TempFolder folder;
    const PackOptions o = options(folder, {folder.write("a.txt", some_text(30000) + "POISON")});
    EXPECT_EQ(message_of([&] { pack(ByteTokenizer(), o); }), "the tokenizer broke");
    EXPECT_THAT(folder.names(), ElementsAre("a.txt"));
}

TEST(Pack, FailuresOfOutputsNameThem) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("a.txt", "x")});
    o.prefix = folder / "a.txt/out";
    EXPECT_THAT(message_of([&] { pack(ByteTokenizer(), o); }), HasSubstr("a.txt"));
    o.prefix = folder / "new/folder/out";
    pack(ByteTokenizer(), o);
    EXPECT_THAT(contents(o.prefix), ElementsAre("x<end>"));
    o.prefix = folder / "new/";
    EXPECT_THROW(pack(ByteTokenizer(), o), Error);
}

TEST(Pack, InterruptionLeavesNothing) {
    const TempFolder folder;
    PackOptions o = options(folder, {folder.write("a.txt", some_text(400000))});
    ByteTokenizer tokenizer;
    tokenizer.jitter = true;
    o.threads = 1;
    int asked = 0;
    o.interrupted = [&] { return ++asked > 0; };
    EXPECT_THROW(pack(tokenizer, o), Interrupted);
    EXPECT_THAT(folder.names(), ElementsAre("a.txt"));
}

TEST(Pack, ProgressReachesItsEnd) {
    const TempFolder folder;
    const std::string text = some_text(20000);
    PackOptions o = options(folder, {folder.write("a.txt.gz", gzip(text)), folder.write("b.txt", "b")});
    PackProgress last;
    o.progress = [&](const PackProgress& p) {
        EXPECT_GE(p.input_bytes, last.input_bytes);
        EXPECT_LE(p.input_bytes, p.total_bytes);
        last = p;
    };
    const PackSummary summary = pack(ByteTokenizer(), o);
    EXPECT_EQ(last.input_bytes, last.total_bytes);
    EXPECT_EQ(last.text_bytes, text.size() + 1);
    EXPECT_EQ(last.documents, 2);
    EXPECT_EQ(summary.input_bytes, last.total_bytes);
}

TEST(Meta, BrokenOrForeignMetadata) {
    const TempFolder folder;
    pack(ByteTokenizer(), options(folder, {folder.write("a.txt", "abc")}));
    const std::string meta = read_file(folder / "out.meta.json");
    folder.write("out.meta.json", meta.substr(0, meta.size() / 2));
    EXPECT_THAT(message_of([&] { (void)read_meta(IndexedDataset(folder / "out")); }),
                HasSubstr("out.meta.json"));
    std::string other = meta;
    other.replace(other.find("\"tokens\": 4"), 11, "\"tokens\": 5");
    folder.write("out.meta.json", other);
    EXPECT_FALSE(read_meta(IndexedDataset(folder / "out")).has_value());
    std::filesystem::remove(folder / "out.meta.json");
    EXPECT_FALSE(read_meta(IndexedDataset(folder / "out")).has_value());
}

}  // namespace
}  // namespace longhaul::data
