// The reader of plain, gzip and zstd text: every split of reads, and every way a file can be broken.
#include "data/text_input.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"

namespace longhaul::data {
namespace {

std::string sample_text(std::size_t lines) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i)
        text += fmt::format("line {} of a text, {}\n", i, i * i * 2654435761U);
    return text;
}

std::string gzip(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string zstd(const std::string& text) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    std::string out(ZSTD_compressBound(text.size()), '\0');
    const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
    EXPECT_FALSE(ZSTD_isError(size));
    out.resize(size);
    ZSTD_freeCCtx(context);
    return out;
}

class TextInputTest : public testing::Test {
protected:
    void SetUp() override {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        path_ =
            std::filesystem::temp_directory_path() / fmt::format("longhaul-{}-{}", info->name(), ::getpid());
    }
    void TearDown() override { std::filesystem::remove(path_); }

    std::string read(const std::string& content) {
        std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
        TextInput input(path_);
        return read_all(input);
    }

    void expect_bad(const std::string& content, const std::string& says) {
        try {
            read(content);
            FAIL() << "no error; expected " << says;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_data);
            EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find(path_.string()), std::string::npos) << error.what();
        }
    }

    std::filesystem::path path_;
};

TEST_F(TextInputTest, PlainGzipAndZstdGiveTheSameText) {
    for (const std::size_t lines : {0U, 1U, 1000U, 40000U}) {
        const std::string text = sample_text(lines);
        EXPECT_EQ(read(text), text);
        EXPECT_EQ(read(gzip(text)), text);
        EXPECT_EQ(read(zstd(text)), text);
    }
}

TEST_F(TextInputTest, SeveralMembersAndPaddingAreOneText) {
    const std::string a = sample_text(100);
    const std::string b = sample_text(7);
    EXPECT_EQ(read(gzip(a) + gzip("") + gzip(b)), a + b);
    EXPECT_EQ(read(gzip(a) + std::string(700, '\0')), a);
    const std::string skippable("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
    EXPECT_EQ(read(zstd(a) + zstd("") + skippable + zstd(b)), a + b);
}

TEST_F(TextInputTest, SmallReadsLoseNothing) {
    // Highly compressible: the decoder holds text when the input is used up already.
    const std::string text = std::string(300000, 'x') + sample_text(500);
    for (const std::string& content : {text, gzip(text), zstd(text)}) {
        std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
        TextInput input(path_);
        EXPECT_EQ(input.file_size(), content.size());
        std::string got;
        std::string piece(1009, '\0');
        std::size_t n = 0;
        while ((n = input.read(piece)) > 0) {
            got.append(piece, 0, n);
            if (got.size() < text.size()) {
                ASSERT_EQ(n, piece.size());
            }
        }
        EXPECT_EQ(got, text);
        EXPECT_EQ(input.consumed(), content.size());
        EXPECT_EQ(input.read(piece), 0U);
    }
}

TEST_F(TextInputTest, EveryTruncationIsAnError) {
    const std::string text = sample_text(20);
    const std::string packed = gzip(text);
    for (std::size_t size = 2; size < packed.size(); ++size) expect_bad(packed.substr(0, size), "cut short");
    const std::string frame = zstd(text);
    for (std::size_t size = 4; size < frame.size(); ++size) expect_bad(frame.substr(0, size), "cut short");
}

TEST_F(TextInputTest, NoFlippedBitGoesUnseen) {
    const std::string text = sample_text(50);
    for (const std::string& packed : {gzip(text), zstd(text)}) {
        for (std::size_t at = 10; at < packed.size(); ++at) {
            std::string broken = packed;
            broken[at] = static_cast<char>(broken[at] ^ 0x10);
            try {
                // A flip may fall on a bit that means nothing; then the text is whole.
                EXPECT_EQ(read(broken), text) << "flip at " << at;
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::bad_data);
            }
        }
    }
}

TEST_F(TextInputTest, ForeignBytesBehindTheDataAreAnError) {
    expect_bad(gzip("text") + "tail", "are not gzip");
    expect_bad(zstd("text") + "tail", "are not zstd");
}

TEST_F(TextInputTest, MissingFilesAndFoldersAreNamed) {
    EXPECT_THROW(TextInput("/nonexistent/text"), Error);
    EXPECT_THROW(TextInput(std::filesystem::temp_directory_path()), Error);
}

}  // namespace
}  // namespace longhaul::data
