// Tokenizers: GPT-2's golden ids, other forms of tokenizer.json, text that is no text, streams, and files
// that are broken.
#include "data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/bpe_tokenizer.h"
#include "data/bpe_trainer.h"
#include "data/pretokenizer.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string fixture() {
    return LONGHAUL_FIXTURES "/tokenizers/gpt2";
}

const Tokenizer& gpt2() {
    static const auto tokenizer = load_tokenizer(fixture());
    return *tokenizer;
}

TEST(Gpt2, GoldenIds) {
    for (const json& one : json::parse(read_file(fixture() + "/golden.json"))) {
        const auto text = one.at("text").get<std::string>();
        const auto ids = one.at("ids").get<std::vector<TokenId>>();
        EXPECT_EQ(gpt2().encode(text), ids) << text;
        EXPECT_EQ(gpt2().decode(ids), text);
    }
    EXPECT_EQ(gpt2().vocab_size(), 50257);
    EXPECT_EQ(gpt2().end_of_document(), 50256);
    EXPECT_EQ(gpt2().id_of("<|endoftext|>"), 50256);
    EXPECT_EQ(gpt2().id_of("no such token"), std::nullopt);
}

// Any bytes go in and come out again, also where they are no UTF-8; all at once or token by token.
TEST(Gpt2, AnyBytesSurvive) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        std::string text;
        const std::uint32_t length = philox(seed, 0, 0)[0] % 60;
        for (std::uint32_t i = 0; i < length; ++i) {
            const Philox4 words = philox(seed, i + 1, 0);
            // Letters, spaces, and everything.
            text += words[0] % 3 == 0 ? static_cast<char>(words[1])
                                      : "abc  \n'\xC3\xA9\xE6\xBC\xA2"[words[1] % 12];
        }
        const auto ids = gpt2().encode(text);
        ASSERT_EQ(gpt2().decode(ids), text) << seed;
        StreamDecoder stream(gpt2());
        std::string streamed;
        for (const TokenId id : ids) streamed += stream.push(id);
        ASSERT_EQ(streamed + stream.finish(), text) << seed;
    }
}

TEST(Gpt2, StreamHoldsBackUnfinishedCharacters) {
    const auto ids = gpt2().encode("\U0001F642");
    ASSERT_GT(ids.size(), 1U);
    StreamDecoder stream(gpt2());
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) EXPECT_EQ(stream.push(ids[i]), "");
    EXPECT_EQ(stream.push(ids.back()), "\U0001F642");
    EXPECT_EQ(stream.finish(), "");
}

// A word of a megabyte: minutes, if its pairs were searched anew for each merge.
TEST(Gpt2, LongWordsAreNotQuadratic) {
    std::string word;
    for (std::uint64_t i = 0; word.size() < (1U << 20U); ++i)
        word += static_cast<char>('a' + philox(7, i, 0)[0] % 26);
    const auto begin = std::chrono::steady_clock::now();
    const auto ids = gpt2().encode(word);
    EXPECT_EQ(gpt2().decode(ids), word);
    EXPECT_EQ(gpt2().decode(gpt2().encode(std::string(1 << 20, ' '))), std::string(1 << 20, ' '));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST(Gpt2, IdsWithoutTokenAreRefused) {
    for (const TokenId id : {-1, 50257, 1 << 30}) EXPECT_THROW((void)gpt2().decode(std::vector{id}), Error);
}

// Llama 3's form: a Split by a regular expression, merges that are passed over for whole words, many special
// tokens.
std::string llama3_form(bool ignore_merges) {
    json vocab = json::object();
    TokenId id = 0;
    const auto add = [&](const std::string& token) { vocab[token] = id++; };
    for (int b = 0; b < 256; ++b)
        add(std::string(b < 0x21 || b > 0x7E ? "\xC4\xA0" : "") + std::to_string(b));
    vocab = json::object();
    id = 0;
    for (const char c : std::string("abcdefghijklmnopqrstuvwxyz0123456789!'")) add(std::string(1, c));
    add("\xC4\xA0");  // the space
    add("\xC4\x8A");  // the line break
    for (const char* token : {"th", "the", "\xC4\xA0t", "\xC4\xA0th", "12", "123", "hello"}) add(token);
    json added = json::array();
    for (int i = 0; i < 256; ++i)
        added.push_back({{"id", 1000 + i},
                         {"content", "<|reserved_special_token_" + std::to_string(i) + "|>"},
                         {"special", true}});
    added.push_back({{"id", 2000}, {"content", "<|end_of_text|>"}, {"special", true}, {"normalized", false}});
    const json split{{"type", "Split"},
                     {"pattern", {{"Regex", kLlama3Pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}};
    const json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    return json{{"added_tokens", added},
                {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}}},
                {"decoder", {{"type", "ByteLevel"}}},
                {"model",
                 {{"type", "BPE"},
                  {"vocab", vocab},
                  {"ignore_merges", ignore_merges},
                  {"merges", json::array({json::array({"t", "h"}), json::array({"th", "e"}), "\xC4\xA0 t",
                                          json::array({"\xC4\xA0t", "h"}), "1 2", "12 3"})}}}}
        .dump();
}

TEST(Llama3Form, SplitsNumbersByThreeAndKnowsSpecialTokens) {
    const BpeTokenizer tokenizer(llama3_form(false));
    const auto pieces = [&](const std::string& text) {
        std::vector<std::string> out;
        for (const TokenId id : tokenizer.encode(text)) out.push_back(tokenizer.decode(std::vector{id}));
        return out;
    };
    EXPECT_THAT(pieces("the 1234"), ElementsAre("the", " ", "123", "4"));
    EXPECT_THAT(pieces("hello"), ElementsAre("h", "e", "l", "l", "o"));
    EXPECT_THAT(pieces("a<|reserved_special_token_255|><|reserved_special_token_25|>b<|end_of_text|>"),
                ElementsAre("a", "<|reserved_special_token_255|>", "<|reserved_special_token_25|>", "b",
                            "<|end_of_text|>"));
    EXPECT_THAT(pieces("don't\n\nx"), ElementsAre("d", "o", "n", "'", "t", "\n", "\n", "x"));
    EXPECT_EQ(tokenizer.end_of_document(), 2000);
    EXPECT_EQ(tokenizer.vocab_size(), 2001);
    // Ids between the parts have no token.
    EXPECT_THROW((void)tokenizer.decode(std::vector<TokenId>{500}), Error);
    EXPECT_THROW((void)tokenizer.encode("\x7F"), Error);
}

TEST(Llama3Form, IgnoreMergesTakesWholeWords) {
    const BpeTokenizer tokenizer(llama3_form(true));
    EXPECT_THAT(tokenizer.encode("hello"), ElementsAre(*tokenizer.id_of("hello")));
    EXPECT_EQ(tokenizer.encode("hellos").size(), 6U);
}

// Llama 2's form in tokenizer.json: the space as a mark, bytes for characters outside the vocabulary.
std::string llama2_form() {
    json vocab{{"<unk>", 0}, {"</s>", 2}};
    TokenId id = 3;
    for (int b = 0; b < 256; ++b) vocab[fmt::format("<0x{:02X}>", b)] = id++;
    for (const char* token : {"\u2581", "a", "b", "c", "\u2581a", "bc"}) vocab[token] = id++;
    return json{
        {"added_tokens", {{{"id", 2}, {"content", "</s>"}, {"special", true}, {"normalized", false}}}},
        {"normalizer",
         {{"type", "Sequence"},
          {"normalizers",
           {{{"type", "Prepend"}, {"prepend", "\u2581"}},
            {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
        {"decoder",
         {{"type", "Sequence"},
          {"decoders",
           {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
            {{"type", "ByteFallback"}},
            {{"type", "Fuse"}},
            {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
        {"model",
         {{"type", "BPE"},
          {"unk_token", "<unk>"},
          {"byte_fallback", true},
          {"fuse_unk", true},
          {"vocab", vocab},
          {"merges", {"\u2581 a", "b c"}}}}}
        .dump();
}

TEST(Llama2Form, MarksSpacesAndFallsBackToBytes) {
    const BpeTokenizer tokenizer(llama2_form());
    const auto id = [&](const char* token) { return tokenizer.id_of(token).value(); };
    EXPECT_THAT(tokenizer.encode("a bc"), ElementsAre(id("\u2581a"), id("\u2581"), id("bc")));
    EXPECT_THAT(tokenizer.encode("\u00e9"), ElementsAre(id("\u2581"), id("<0xC3>"), id("<0xA9>")));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode("a bc \u00e9 a")), "a bc \u00e9 a");
    EXPECT_THAT(tokenizer.encode("a</s>"), ElementsAre(id("\u2581a"), 2));
    // The rest of a longer text begins without a space.
    EXPECT_THAT(tokenizer.encode_rest("bc"), ElementsAre(id("bc")));
    EXPECT_EQ(tokenizer.end_of_document(), 2);
}

TEST(Normalizer, ComposesOnlyWhereItIsAsked) {
    json form = json::parse(llama3_form(false));
    form["normalizer"] = {{"type", "NFC"}};
    form["model"]["vocab"]["\u00c3"] = 900;  // byte C3
    form["model"]["vocab"]["\u00a9"] = 901;  // byte A9
    const BpeTokenizer tokenizer(form.dump());
    EXPECT_THAT(tokenizer.encode("e\u0301"), ElementsAre(900, 901));
}

TEST(Broken, SaysWhatIsWrong) {
    const auto complaint = [](const std::function<void(json&)>& damage) -> std::string {
        json form = json::parse(llama3_form(false));
        damage(form);
        try {
            const BpeTokenizer tokenizer(form.dump());
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_data);
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(complaint([](json& j) { j.erase("model"); }), HasSubstr("\"model\""));
    EXPECT_THAT(complaint([](json& j) { j["model"]["type"] = "Unigram"; }), HasSubstr("Unigram"));
    EXPECT_THAT(complaint([](json& j) { j["model"]["vocab"]["x"] = -1; }), HasSubstr("\"x\""));
    EXPECT_THAT(complaint([](json& j) { j["model"]["vocab"]["x"] = 1 << 29; }), HasSubstr("no vocabulary"));
    EXPECT_THAT(complaint([](json& j) { j["model"]["merges"][1] = "a b c"; }), HasSubstr("model.merges[1]"));
    EXPECT_THAT(complaint([](json& j) { j["model"]["merges"][1] = "q z"; }), HasSubstr("\"qz\""));
    EXPECT_THAT(complaint([](json& j) { j["model"]["continuing_subword_prefix"] = "##"; }),
                HasSubstr("continuing_subword_prefix"));
    EXPECT_THAT(complaint([](json& j) { j["model"]["dropout"] = 0.1; }), HasSubstr("dropout"));
    EXPECT_THAT(complaint([](json& j) {
                    j["normalizer"] = {{"type", "BertNormalizer"}};
                }),
                HasSubstr("BertNormalizer"));
    EXPECT_THAT(complaint([](json& j) { j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a"; }),
                HasSubstr("(a"));
    EXPECT_THAT(complaint([](json& j) { j["added_tokens"][3].erase("content"); }),
                HasSubstr("added_tokens[3]"));
    EXPECT_THAT(complaint([](json& j) { j["decoder"] = {{"type", "WordPiece"}}; }), HasSubstr("WordPiece"));
    EXPECT_THROW(BpeTokenizer("{"), Error);
    EXPECT_THROW(BpeTokenizer("[]"), Error);
    EXPECT_THROW((void)load_tokenizer("no/such/tokenizer.json"), Error);
    EXPECT_THROW((void)load_tokenizer(LONGHAUL_FIXTURES), Error);
}

TEST(Bytes, AreTheirOwnIds) {
    const auto bytes = load_tokenizer("bytes");
    EXPECT_THAT(bytes->encode("A\xFF<|endoftext|>"), ElementsAre(65, 255, 256));
    EXPECT_EQ(bytes->decode(std::vector<TokenId>{65, 255, 256}), "A\xFF<|endoftext|>");
    EXPECT_EQ(bytes->vocab_size(), 257);
}

TEST(Training, MergesTheMostFrequentPairsAndIsReadAgain) {
    const std::vector<std::pair<std::string, std::int64_t>> words{
        {" low", 5}, {" lower", 2}, {" newest", 6}, {" widest", 3}};
    BpeTrainOptions options;
    options.vocab_size = 257 + 6;
    const TrainedBpe trained = train_bpe(words, 1, options);
    std::vector<std::string> made(trained.tokens.begin() + 256, trained.tokens.end());
    // Counts by hand: es 9, est 9, " l" 7; then " lo" and "ow" have 7, and "ow" the smaller ids; " low" 7; of
    // the pairs of 6 the one with the smaller ids.
    EXPECT_THAT(made, ElementsAre("es", "est", " l", "ow", " low", " n"));
    const BpeTokenizer tokenizer(tokenizer_json(trained, {"<|endoftext|>"}, kGpt2Pattern));
    EXPECT_EQ(tokenizer.vocab_size(), 263);
    EXPECT_EQ(tokenizer.end_of_document(), 0);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(" lowest \xFF\u00e9<|endoftext|>")),
              " lowest \xFF\u00e9<|endoftext|>");
    EXPECT_EQ(tokenizer.encode(" low").size(), 1U);
    options.vocab_size = 256;
    EXPECT_THROW((void)train_bpe(words, 1, options), Error);
}

}  // namespace
}  // namespace longhaul::data
