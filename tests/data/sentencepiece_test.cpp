// Sentencepiece models, trained by its own library for these tests: the same ids as the library's own,
// control symbols, bytes that are no piece, text that goes on, files that are broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "base/error.h"
#include "base/file.h"
#include "data/tokenizer.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using TempFolder = longhaul::test::TempFolder;

constexpr const char* kTexts[] = {"the quick brown fox jumps over the lazy dog",
                                  "  two  spaces, and\ttabs ",
                                  "a line\nand another\n\n",
                                  "caf\u00e9 \u4e2d\u6587 \U0001f600",
                                  "x",
                                  " ",
                                  "\n",
                                  "1234567890 + 42"};

std::string corpus() {
    std::string text;
    const std::vector<std::string> words{"the",   "quick", "brown", "fox",  "jumps", "over",  "lazy",
                                         "dog",   "and",   "runs",  "away", "from",  "its",   "shadow",
                                         "under", "trees", "while", "rain", "falls", "softly"};
    for (std::size_t line = 0; line < 400; ++line) {
        for (std::size_t word = 0; word < 9; ++word) text += words[(line * 7 + word * word * 3) % 20] + " ";
        text += std::to_string(line) + "\n";
    }
    return text;
}

// "bpe" is what Llama's and Mistral's models are, with bytes for what has no piece and no normalisation.
std::string train(const TempFolder& folder, const std::string& type, const std::string& more = "") {
    const std::string prefix = folder / ("model_" + type);
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        "--input=" + folder.write("corpus.txt", corpus()) + " --model_prefix=" + prefix +
        " --model_type=" + type + " --vocab_size=400 --hard_vocab_limit=false --minloglevel=2 " + more);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    return prefix + ".model";
}

constexpr const char* kLlama =
    "--byte_fallback=true --normalization_rule_name=identity --remove_extra_whitespaces=false "
    "--split_digits=true --allow_whitespace_only_pieces=true";

class SentencePiece : public testing::Test {
protected:
    TempFolder folder_;
    std::string file_ = train(folder_, "bpe", kLlama);
    std::unique_ptr<Tokenizer> tokenizer_ = load_tokenizer(file_);
    sentencepiece::SentencePieceProcessor library_;
    void SetUp() override { ASSERT_TRUE(library_.Load(file_).ok()); }

    [[nodiscard]] std::vector<TokenId> by_library(std::string_view text) const {
        std::vector<int> ids;
        EXPECT_TRUE(library_.Encode(text, &ids).ok());
        return {ids.begin(), ids.end()};
    }
};

TEST_F(SentencePiece, IdsAreTheLibrarysAndTheTextComesBack) {
    for (const char* text : kTexts) {
        EXPECT_EQ(tokenizer_->encode(text), by_library(text)) << text;
        EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
    }
    EXPECT_TRUE(tokenizer_->encode("").empty());
    EXPECT_EQ(tokenizer_->decode({}), "");
}

TEST_F(SentencePiece, ControlSymbolsInATextAreTokens) {
    const TokenId begin = library_.bos_id();
    const TokenId end = library_.eos_id();
    EXPECT_EQ(tokenizer_->end_of_document(), end);
    EXPECT_EQ(tokenizer_->id_of("<s>"), begin);
    EXPECT_EQ(tokenizer_->id_of("no such piece"), std::nullopt);
    EXPECT_EQ(tokenizer_->vocab_size(), library_.GetPieceSize());
    std::vector<TokenId> expected{begin};
    for (const TokenId id : by_library("the fox")) expected.push_back(id);
    expected.push_back(end);
    EXPECT_THAT(tokenizer_->encode("<s>the fox</s>"), ElementsAreArray(expected));
    EXPECT_EQ(tokenizer_->decode(expected), "<s>the fox</s>");
}

TEST_F(SentencePiece, TextThatGoesOnGetsNoSpaceOfItsOwn) {
    const std::vector<TokenId> whole = tokenizer_->encode("the\nfox runs");
    std::vector<TokenId> parts = tokenizer_->encode("the\n");
    for (const TokenId id : tokenizer_->encode_rest("fox runs")) parts.push_back(id);
    EXPECT_EQ(parts, whole);
    EXPECT_EQ(tokenizer_->decode(parts), "the\nfox runs");
}

TEST_F(SentencePiece, AnIdThatTheVocabularyLacks) {
    const std::vector<TokenId> above{static_cast<TokenId>(tokenizer_->vocab_size())};
    const std::vector<TokenId> below{-1};
    EXPECT_THAT(test::message_of([&] { (void)tokenizer_->decode(above); }), HasSubstr("no token"));
    EXPECT_THAT(test::message_of([&] { (void)tokenizer_->decode(below); }), HasSubstr("no token"));
}

TEST_F(SentencePiece, AFolderWithATokenizerModel) {
    write_file_atomic(folder_ / "tokenizer.model", read_file(file_));
    const auto found = load_tokenizer(folder_ / "");
    EXPECT_EQ(found->fingerprint(), tokenizer_->fingerprint());
    EXPECT_THAT(found->files(), testing::ElementsAre(std::filesystem::path(folder_ / "tokenizer.model")));
}

TEST_F(SentencePiece, BrokenFilesAreNamed) {
    const std::string content = read_file(file_);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, content.size() / 3, content.size() - 1}) {
        const std::string torn = folder_.write("torn.model", std::string_view(content).substr(0, size));
        EXPECT_THAT(test::message_of([&] { (void)load_tokenizer(torn); }), HasSubstr("torn.model")) << size;
    }
    const std::string text = folder_.write("text.model", "this is no model");
    EXPECT_THAT(test::message_of([&] { (void)load_tokenizer(text); }), HasSubstr("sentencepiece"));
}

TEST(SentencePieceUnigram, IdsAreTheLibrarys) {
    const TempFolder folder;
    const std::string file = train(folder, "unigram");
    sentencepiece::SentencePieceProcessor library;
    ASSERT_TRUE(library.Load(file).ok());
    const auto tokenizer = load_tokenizer(file);
    for (const char* text : kTexts) {
        std::vector<int> ids;
        ASSERT_TRUE(library.Encode(text, &ids).ok());
        EXPECT_THAT(tokenizer->encode(text), ElementsAreArray(ids)) << text;
    }
    EXPECT_EQ(tokenizer->decode(tokenizer->encode("the fox runs")), "the fox runs");
}

}  // namespace
}  // namespace longhaul::data
