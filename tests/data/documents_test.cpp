// Text cut into documents and pieces: nothing lost, nothing added, whatever the line ends and sizes.
#include "data/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/line_reader.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using test::message_of;
using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Texts = std::vector<std::string>;

Texts documents(const std::string& content, const std::string& separator, std::size_t piece_bytes = 1 << 20) {
    const TempFolder folder;
    const auto reader = read_text(folder.write("a.txt", content), Separator::parse(separator), piece_bytes);
    Texts out;
    Piece piece;
    std::string open;
    while (reader->next(piece)) {
        EXPECT_FALSE(piece.json);
        open += piece.text;
        if (!piece.ends_document) {
            EXPECT_GE(piece.text.size(), piece_bytes / 2);
            continue;
        }
        out.push_back(open);
        open.clear();
    }
    EXPECT_EQ(open, "") << "the last document was not ended";
    return out;
}

TEST(Separator, Names) {
    EXPECT_EQ(Separator::parse("none").kind, Separator::Kind::none);
    EXPECT_EQ(Separator::parse("blank-lines").kind, Separator::Kind::blank_lines);
    EXPECT_EQ(Separator::parse("lines").kind, Separator::Kind::lines);
    EXPECT_EQ(Separator::parse("line=%").text, "%");
    for (const char* bad : {"", "blank-line", "line", "line=", "%"})
        EXPECT_THROW(Separator::parse(bad), Error) << bad;
}

TEST(ReadText, AFileIsOneDocumentByteForByte) {
    const std::vector<std::string> texts{
        "x", "\n", "a\r\nb\r\n", "no end", "\n\n\nx\n\n", std::string("nul\0in\0it", 9), "\xff\xfe\x80"};
    for (const std::string& text : texts) EXPECT_THAT(documents(text, "none"), ElementsAre(text));
    EXPECT_THAT(documents(std::string("\0\n\0", 3), "none"), ElementsAre(std::string("\0\n\0", 3)));
    EXPECT_THAT(documents("", "none"), IsEmpty());
    EXPECT_THAT(documents("\xEF\xBB\xBF", "none"), IsEmpty());
    EXPECT_THAT(documents("\xEF\xBB\xBFx", "none"), ElementsAre("x"));
    EXPECT_THAT(documents("x\n\xEF\xBB\xBFx", "none"), ElementsAre("x\n\xEF\xBB\xBFx"));
}

TEST(ReadText, BlankLinesSeparate) {
    EXPECT_THAT(documents("a\nb\n\nc\n", "blank-lines"), ElementsAre("a\nb", "c"));
    EXPECT_THAT(documents("a\r\nb\r\n\r\n \t\r\nc", "blank-lines"), ElementsAre("a\r\nb", "c"));
    EXPECT_THAT(documents("\n\n a\n\n\n", "blank-lines"), ElementsAre(" a"));
    EXPECT_THAT(documents("\n \n\t\n", "blank-lines"), IsEmpty());
    EXPECT_THAT(documents("", "blank-lines"), IsEmpty());
    EXPECT_THAT(documents("x", "blank-lines"), ElementsAre("x"));
}

TEST(ReadText, LinesAreDocuments) {
    EXPECT_THAT(documents("a\n\nb\r\nc", "lines"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(documents("\n", "lines"), IsEmpty());
}

TEST(ReadText, ALineOfItsOwnSeparates) {
    EXPECT_THAT(documents("a\n%\nb%\n%b\n%\r\n%\nc\n%", "line=%"), ElementsAre("a", "b%\n%b", "c"));
    EXPECT_THAT(documents("a\n\nb\n<|end|>\nc", "line=<|end|>"), ElementsAre("a\n\nb", "c"));
}

TEST(ReadText, LongDocumentsComeInPiecesThatMakeThemUp) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i * i) + (i % 7 == 0 ? "\n\n" : "\n");
    for (const std::size_t piece_bytes :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{100}, std::size_t{4096}, text.size()})
        EXPECT_THAT(documents(text, "none", piece_bytes), ElementsAre(text)) << piece_bytes;
    Texts whole = documents(text, "blank-lines");
    EXPECT_GT(whole.size(), 400U);
    EXPECT_EQ(documents(text, "blank-lines", 10), whole);
    EXPECT_EQ(documents(text, "lines", 3), documents(text, "lines"));
    // No line break and no space at all, longer than every buffer, and multi-byte characters.
    std::string euros;
    for (int i = 0; i < 300000; ++i) euros += "\xE2\x82\xAC";
    EXPECT_THAT(documents(euros, "none", 1000), ElementsAre(euros));
    EXPECT_THAT(documents(euros + "\n" + euros + "\n", "lines", 1000), ElementsAre(euros, euros));
}

TEST(LineReader, FragmentsOfAnyBufferSizeMakeUpTheText) {
    const TempFolder folder;
    const std::string text = "a\n\nbc\r\nlonger than the buffer\n\nend without a break";
    const std::string path = folder.write("a", text);
    for (std::size_t size = 3; size < 60; ++size) {
        LineReader reader(path, size);
        LineReader::Fragment fragment;
        std::string all;
        int lines = 0;
        int begins = 0;
        while (reader.next(fragment)) {
            all += fragment.text;
            begins += fragment.begins_line ? 1 : 0;
            lines += fragment.ends_line ? 1 : 0;
        }
        EXPECT_EQ(all, text) << size;
        EXPECT_EQ(begins, 6) << size;
        EXPECT_EQ(lines, 6) << size;
    }
}

TEST(SafeCut, PrefersPlacesWhereTokenizersCut) {
    EXPECT_EQ(safe_cut("aaaa bbb.\nccc dddd"), 10U);
    EXPECT_EQ(safe_cut("aaaa bbb.\n\nccc ddd"), 14U);  // not behind a blank line
    EXPECT_EQ(safe_cut("aaaa bbb.\r\nccc ddd"), 14U);  // nor behind CR LF
    EXPECT_EQ(safe_cut("aaaaaaaa\n\n ,, ,,"), 15U);    // no good place: the last character
    EXPECT_EQ(safe_cut("aaaa\xE2\x82\xAC\xE2\x82\xAC"), 7U);
    EXPECT_EQ(safe_cut("\x80\x80\x80\x80\x80"), 2U);
    EXPECT_EQ(safe_cut("ab"), 1U);
}

TEST(Jsonl, Names) {
    for (const char* yes : {"a.jsonl", "a.json", "x/b.ndjson", "a.jsonl.gz", "a.json.zst", "a.jsonl.dz"})
        EXPECT_TRUE(is_jsonl_name(yes)) << yes;
    for (const char* no : {"a.txt", "jsonl", "a.jsonl.txt", "a.gz", "-", "a.jsonl/x"})
        EXPECT_FALSE(is_jsonl_name(no)) << no;
}

TEST(Jsonl, LinesWithTheirNumbers) {
    const TempFolder folder;
    const auto reader = read_jsonl(
        folder.write("a.jsonl", "\xEF\xBB\xBF{\"a\"}\r\n\n   \n[1]\n" + std::string(500, 'x') + "\n{}"), 100);
    Piece piece;
    ASSERT_TRUE(reader->next(piece));
    EXPECT_EQ(piece.line, 1);
    EXPECT_EQ(piece.text, "{\"a\"}\r\n");
    ASSERT_TRUE(reader->next(piece));
    EXPECT_EQ(piece.line, 4);
    ASSERT_TRUE(reader->next(piece));
    EXPECT_EQ(piece.line, 5);
    EXPECT_TRUE(piece.too_long);
    EXPECT_EQ(piece.text, "");
    ASSERT_TRUE(reader->next(piece));
    EXPECT_EQ(piece.line, 6);
    EXPECT_FALSE(piece.too_long);
    EXPECT_EQ(piece.text, "{}");
    EXPECT_FALSE(reader->next(piece));
}

TEST(JsonText, TakesTheStringAtTheKey) {
    EXPECT_EQ(json_text(R"({"text": "a\nb", "id": 3})", "text"), "a\nb");
    EXPECT_EQ(json_text(R"({"meta": {"text": "no"}, "text": "yes"})", "text"), "yes");
    EXPECT_EQ(json_text(R"( {"body":""} )", "body"), "");
    EXPECT_EQ(json_text(R"({"text": "\u00e9\ud83d\ude00\\u0041\u0000z"})", "text"),
              std::string("\xC3\xA9\xF0\x9F\x98\x80\\u0041\0z", 14));
    EXPECT_EQ(json_text(R"({"t\u0065xt": "escaped key"})", "text"), "escaped key");
}

TEST(JsonText, NamesEachFault) {
    const auto fault = [](const std::string& line) {
        return message_of([&] { (void)json_text(line, "text"); });
    };
    EXPECT_THAT(fault(R"({"text": "a")"), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault("{}x"), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault("plain text"), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault("[{"), HasSubstr("not an array of them"));
    EXPECT_THAT(fault("[1, 2]"), HasSubstr("a JSON array where"));
    EXPECT_THAT(fault("\"text\""), HasSubstr("a JSON string where"));
    EXPECT_THAT(fault(R"({"body": 1, "title": 2})"), HasSubstr("no key \"text\" (it has: body, title)"));
    EXPECT_THAT(fault(R"({"text": ["a"]})"), HasSubstr("\"text\" is a JSON array"));
    EXPECT_THAT(fault(R"({"text": null})"), HasSubstr("\"text\" is a JSON null"));
    EXPECT_THAT(fault(R"({"text": "\ud800"})"), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault(R"({"text": "\u12"})"), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault("{\"text\": \"\xff\"}"), HasSubstr("UTF-8"));
    EXPECT_THAT(fault("{\"text\": \"\xC3\"}"), HasSubstr("UTF-8"));
    EXPECT_THAT(fault(R"({"text": "a", "n": 1e999})"), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault(std::string(1000000, '[')), HasSubstr("not valid JSON"));
    EXPECT_THAT(fault(std::string(500000, '[') + std::string(500000, ']')), HasSubstr("a JSON array where"));
}

}  // namespace
}  // namespace longhaul::data
