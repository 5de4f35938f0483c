// tokenizer and data commands as a user runs them, from text to packed tokens, with broken input on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/process.h"

namespace longhaul::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const std::string kGpt2 = std::string(LONGHAUL_FIXTURES) + "/tokenizers/gpt2";

// What a shell command prints.
std::string shell(const std::string& command) {
    std::string out;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return out;
    char buffer[1 << 16];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    ::pclose(pipe);
    return out;
}

// The first characters (not bytes) of a UTF-8 text.
std::string first_characters(const std::string& text, std::size_t count) {
    std::size_t at = 0;
    while (at < text.size() && count > 0) {
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) ++at;
        --count;
    }
    return text.substr(0, at);
}

TEST(TokenizerCommand, GoldenCorpora) {
    const ScratchFolder folder;
    const json golden = json::parse(read_text(kGpt2 + "/golden_corpora.json"));
    const std::string texts[] = {shell("bible -f 'gen1:1-rev22:21'"),
                                 shell("zcat < /usr/share/dictd/gcide.dict.dz")};
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_GT(texts[i].size(), 600000U) << golden[i].at("text");
        write_text(folder / "text", first_characters(texts[i], 600000));
        const Finished done =
            longhaul({"tokenizer", "encode", "--tokenizer", kGpt2, "--json", folder / "text"});
        ASSERT_EQ(done.status, 0) << done.err;
        const auto ids = json::parse(done.out).get<std::vector<std::uint16_t>>();
        EXPECT_EQ(ids.size(), golden[i].at("tokens").get<std::size_t>());
        write_text(folder / "ids", std::string(reinterpret_cast<const char*>(ids.data()), ids.size() * 2));
        EXPECT_EQ(shell("sha256sum < " + folder / "ids").substr(0, 64),
                  golden[i].at("sha256_of_uint16_ids").get<std::string>());
    }
}

TEST(TokenizerCommand, EncodesAndDecodesStandardInput) {
    const Finished plain =
        longhaul({"tokenizer", "encode", "--tokenizer", kGpt2}, "Hello, world!<|endoftext|>");
    EXPECT_EQ(plain.out, "15496 11 995 0 50256\n") << plain.err;
    EXPECT_EQ(longhaul({"tokenizer", "decode", "--tokenizer", kGpt2}, plain.out).out,
              "Hello, world!<|endoftext|>");
    EXPECT_EQ(longhaul({"tokenizer", "decode", "--tokenizer", kGpt2, "--json", "-"}, "[15496, 11]").out,
              "\"Hello,\"\n");
    EXPECT_EQ(longhaul({"tokenizer", "encode", "--tokenizer", kGpt2, "--json"}, "").out, "[]\n");
    const Finished broken = longhaul({"tokenizer", "decode", "--tokenizer", kGpt2}, "1 2\nx");
    EXPECT_EQ(broken.status, 3);
    EXPECT_THAT(broken.err, HasSubstr("standard input:2"));
    EXPECT_EQ(longhaul({"tokenizer", "decode", "--tokenizer", kGpt2}, "99999").status, 3);
    EXPECT_EQ(longhaul({"tokenizer", "encode", "--tokenizer", "none.json"}, "x").status, 2);
}

std::string some_text() {
    std::string text;
    for (int i = 0; i < 3000; ++i)
        text += "The " + std::to_string(i) + "th line tells of rivers and of hills.\n\n";
    return text;
}

TEST(TokenizerCommand, TrainsTheSameVocabularyOnAnyNumberOfThreads) {
    const ScratchFolder folder;
    write_text(folder / "text.txt", some_text());
    for (const char* threads : {"1", "3"}) {
        const Finished done =
            longhaul({"tokenizer", "train", "--type", "bpe", "--vocab-size", "400", "--threads", threads,
                      "--json", "--out", folder / threads, folder / "text.txt"});
        ASSERT_EQ(done.status, 0) << done.err;
        EXPECT_EQ(json::parse(done.out).at("vocab_size"), 400);
    }
    EXPECT_EQ(read_text(folder / "1"), read_text(folder / "3"));
    // No file where it fails.
    EXPECT_EQ(
        longhaul({"tokenizer", "train", "--vocab-size", "100", "--out", folder / "x", folder / "text.txt"})
            .status,
        2);
    EXPECT_EQ(longhaul({"tokenizer", "train", "--vocab-size", "300", "--out", folder / "x", folder / "none"})
                  .status,
              3);
    EXPECT_EQ(longhaul({"tokenizer", "train", "--vocab-size", "300", "--out", folder / "x", "--pattern", "(",
                        folder / "text.txt"})
                  .status,
              2);
    write_text(folder / "empty", "");
    EXPECT_EQ(longhaul({"tokenizer", "train", "--vocab-size", "300", "--out", folder / "x", folder / "empty"})
                  .status,
              3);
    EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST(DataCommand, PacksAndInspects) {
    const ScratchFolder folder;
    write_text(folder / "text.txt", some_text());
    const Finished packed =
        longhaul({"data", "pack", "--tokenizer", kGpt2, "--out", folder / "d/set", "--document-separator",
                  "blank-lines", "--validation-fraction", "0.1", "--json", folder / "text.txt"});
    ASSERT_EQ(packed.status, 0) << packed.err;
    const json summary = json::parse(packed.out);
    EXPECT_EQ(summary.at("parts").at(0).at("documents").get<int>() +
                  summary.at("parts").at(1).at("documents").get<int>(),
              3000);
    const Finished inspected =
        longhaul({"data", "inspect", folder / "d/set", "--json", "--show", "1", "--tokenizer", kGpt2});
    ASSERT_EQ(inspected.status, 0) << inspected.err;
    const json report = json::parse(inspected.out);
    EXPECT_EQ(report.at("tokens"), summary.at("parts").at(0).at("tokens"));
    EXPECT_EQ(report.at("largest_id"), 50256);
    EXPECT_EQ(report.at("first_documents").at(0).at("text"),
              "The 0th line tells of rivers and of hills.<|endoftext|>");
    EXPECT_EQ(longhaul({"data", "inspect", folder / "none"}).status, 3);
}

TEST(DataCommand, BrokenLinesStopOrAreSkipped) {
    const ScratchFolder folder;
    write_text(folder / "a.jsonl", "{\"text\": \"one\"}\n{\"text\": 5}\n{broken\n{\"text\": \"two\"}\n");
    const Finished stopped =
        longhaul({"data", "pack", "--tokenizer", "bytes", "--out", folder / "set", folder / "a.jsonl"});
    EXPECT_EQ(stopped.status, 3);
    EXPECT_THAT(stopped.err, HasSubstr("a.jsonl:2"));
    EXPECT_FALSE(fs::exists(folder / "set.bin") || fs::exists(folder / "set.idx"));
    const Finished skipped = longhaul({"data", "pack", "--tokenizer", "bytes", "--on-error", "skip", "--json",
                                       "--out", folder / "set", folder / "a.jsonl"});
    EXPECT_EQ(skipped.status, 0) << skipped.err;
    EXPECT_EQ(json::parse(skipped.out).at("skipped_lines"), 2);
    EXPECT_EQ(json::parse(skipped.out).at("parts").at(0).at("tokens"), 8);
}

TEST(DataCommand, AnInterruptLeavesNothing) {
    const ScratchFolder folder;
    std::string text;
    for (int i = 0; i < 400; ++i) text += some_text();
    write_text(folder / "big.txt", text);
    Process pack({"data", "pack", "--tokenizer", kGpt2, "--threads", "1", "--out", folder / "set",
                  folder / "big.txt"});
    pack.wait_until(
        [&] { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) > 1; });
    pack.signal(SIGINT);
    const Finished done = pack.wait();
    EXPECT_EQ(done.status, 130) << done.err;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(CommandLine, HelpAndMistakes) {
    for (const char* command :
         {"train", "tokenizer", "data", "generate", "eval", "bench", "import", "export", "checkpoint"}) {
        const Finished help = longhaul({command, "--help"});
        EXPECT_EQ(help.status, 0) << command;
        EXPECT_THAT(help.out, HasSubstr("--help")) << command;
    }
    EXPECT_EQ(longhaul({}).status, 2);
    EXPECT_EQ(longhaul({"no-such-command"}).status, 2);
    EXPECT_EQ(longhaul({"data", "pack", "--no-such-option"}).status, 2);
}

}  // namespace
}  // namespace longhaul::cli
