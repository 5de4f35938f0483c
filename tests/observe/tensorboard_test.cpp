// TensorBoard files, read by a reader of its own: TFRecord frames, masked CRC-32C computed bit by bit,
// messages.
#include "observe/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <variant>

#include "base/file.h"
#include "base/time.h"
#include "data/temp_folder.h"

namespace longhaul::observe {
namespace {

using test::TempFolder;

// CRC-32C by division, one bit at a time: polynomial 0x1EDC6F41, bits reflected.
std::uint32_t crc_by_bits(std::string_view bytes) {
    std::uint32_t remainder = 0xFFFFFFFFU;
    for (const char c : bytes) {
        for (int bit = 0; bit < 8; ++bit) {
            const std::uint32_t in = (static_cast<std::uint8_t>(c) >> static_cast<unsigned>(bit)) & 1U;
            const bool carry = ((remainder ^ in) & 1U) != 0;
            remainder >>= 1U;
            if (carry) remainder ^= 0x82F63B78U;  // 0x1EDC6F41 reflected
        }
    }
    return ~remainder;
}

std::uint32_t mask(std::uint32_t crc) {
    return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

template <typename T>
T take(std::string_view& bytes) {
    T value{};
    EXPECT_GE(bytes.size(), sizeof(T));
    if (bytes.size() < sizeof(T)) {
        bytes = {};
        return value;
    }
    std::memcpy(&value, bytes.data(), sizeof(T));
    bytes.remove_prefix(sizeof(T));
    return value;
}

std::vector<std::string> records(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    std::string_view rest = file;
    std::vector<std::string> all;
    while (!rest.empty()) {
        const std::string_view length_bytes = rest.substr(0, 8);
        const auto length = take<std::uint64_t>(rest);
        EXPECT_EQ(take<std::uint32_t>(rest), mask(crc_by_bits(length_bytes)));
        if (length > rest.size()) {
            ADD_FAILURE() << "a record is longer than the file";
            break;
        }
        all.emplace_back(rest.substr(0, length));
        rest.remove_prefix(length);
        EXPECT_EQ(take<std::uint32_t>(rest), mask(crc_by_bits(all.back())));
    }
    return all;
}

// A message as field number -> raw values; varints as integers, the others as their bytes.
using Field = std::variant<std::uint64_t, std::string>;
using Message = std::multimap<std::uint64_t, Field>;

std::uint64_t take_varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = take<std::uint8_t>(bytes);
        value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

Message parse(std::string_view bytes) {
    Message message;
    while (!bytes.empty()) {
        const std::uint64_t key = take_varint(bytes);
        std::size_t size = 0;
        switch (key & 7U) {
            case 0:
                message.emplace(key >> 3U, take_varint(bytes));
                continue;
            case 1:
                size = 8;
                break;
            case 2:
                size = take_varint(bytes);
                break;
            case 5:
                size = 4;
                break;
            default:
                ADD_FAILURE() << "wire type " << (key & 7U);
                return message;
        }
        EXPECT_LE(size, bytes.size());
        message.emplace(key >> 3U, std::string(bytes.substr(0, size)));
        bytes.remove_prefix(std::min(size, bytes.size()));
    }
    return message;
}

const std::string& text(const Message& message, std::uint64_t field) {
    static const std::string none;
    const auto found = message.find(field);
    return found == message.end() ? none : std::get<std::string>(found->second);
}
std::int64_t integer(const Message& message, std::uint64_t field) {
    const auto found = message.find(field);
    return found == message.end() ? 0 : static_cast<std::int64_t>(std::get<std::uint64_t>(found->second));
}
template <typename T>
T fixed(const Message& message, std::uint64_t field) {
    std::string_view bytes = text(message, field);
    return take<T>(bytes);
}
Message value_of(const Message& event) {
    return parse(text(parse(text(event, 5)), 1));
}

std::vector<Message> events(const TempFolder& folder) {
    const auto names = folder.names();
    EXPECT_EQ(names.size(), 1U);
    std::vector<Message> all;
    for (const std::string& record : records(folder / names.at(0))) all.push_back(parse(record));
    return all;
}

TEST(Crc32c, KnownAnswers) {
    const auto crc = [](std::string_view s) { return crc32c(std::as_bytes(std::span(s.data(), s.size()))); };
    EXPECT_EQ(crc("123456789"), 0xE3069283U);
    EXPECT_EQ(crc(""), 0U);
    EXPECT_EQ(crc(std::string(32, '\0')), 0x8A9136AAU);    // RFC 3720
    EXPECT_EQ(crc(std::string(32, '\xff')), 0x62A8AB43U);  // RFC 3720
    EXPECT_EQ(crc_by_bits("123456789"), 0xE3069283U);
}

TEST(TensorBoard, FileIsNamedSoThatItIsFoundAndBeginsWithItsVersion) {
    const TempFolder folder;
    const double before = unix_time();
    { const TensorBoardWriter writer(folder / ".", 0); }
    EXPECT_THAT(folder.names(), testing::ElementsAre(testing::StartsWith("events.out.tfevents.")));
    const auto all = events(folder);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(text(all[0], 3), "brain.Event:2");
    EXPECT_GE(fixed<double>(all[0], 1), before);
    EXPECT_LE(fixed<double>(all[0], 1), unix_time());
}

TEST(TensorBoard, ScalarsCarryTagStepAndValue) {
    const TempFolder folder;
    {
        TensorBoardWriter writer(folder / ".", 0);
        writer.scalar("loss", 0, 10.5);
        writer.scalar("optimizer/lr", 300, 6e-4);
        writer.scalar("loss", std::int64_t{1} << 40, -1e30);
    }
    const auto all = events(folder);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(integer(all[1], 2), 0);
    EXPECT_EQ(text(value_of(all[1]), 1), "loss");
    EXPECT_EQ(fixed<float>(value_of(all[1]), 2), 10.5F);
    EXPECT_EQ(integer(all[2], 2), 300);
    EXPECT_EQ(text(value_of(all[2]), 1), "optimizer/lr");
    EXPECT_EQ(fixed<float>(value_of(all[2]), 2), 6e-4F);
    EXPECT_EQ(integer(all[3], 2), std::int64_t{1} << 40);
    EXPECT_EQ(fixed<float>(value_of(all[3]), 2), -1e30F);
}

TEST(TensorBoard, TextIsAStringTensorOfTheTextPlugin) {
    const TempFolder folder;
    const std::string markdown(70000, 'm');
    {
        TensorBoardWriter writer(folder / ".", 0);
        writer.text("config", 5, markdown);
    }
    const auto all = events(folder);
    ASSERT_EQ(all.size(), 2U);
    const Message value = value_of(all[1]);
    EXPECT_EQ(text(value, 1), "config");
    const Message tensor = parse(text(value, 8));
    EXPECT_EQ(integer(tensor, 1), 7);  // DT_STRING
    EXPECT_EQ(integer(parse(text(parse(text(tensor, 2)), 2)), 1), 1);
    EXPECT_EQ(text(tensor, 8), markdown);
    EXPECT_EQ(text(parse(text(parse(text(value, 9)), 1)), 1), "text");
}

// TensorBoard drops what it has of steps at or after a session's start.
TEST(TensorBoard, ResumedRunBeginsASession) {
    const TempFolder folder;
    { const TensorBoardWriter writer(folder / ".", 40); }
    const auto all = events(folder);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(text(all[0], 3), "brain.Event:2");
    EXPECT_EQ(integer(all[1], 2), 41);
    EXPECT_EQ(integer(parse(text(all[1], 7)), 1), 1);
}

TEST(TensorBoard, FlushMakesRecordsVisible) {
    const TempFolder folder;
    TensorBoardWriter writer(folder / ".", 0);
    writer.scalar("loss", 1, 2);
    writer.flush();
    EXPECT_EQ(events(folder).size(), 2U);
}

TEST(TensorBoard, FolderThatCannotBeMadeIsNamed) {
    const TempFolder folder;
    folder.write("file", "x");
    EXPECT_THAT(test::message_of([&] { const TensorBoardWriter writer(folder / "file", 0); }),
                testing::HasSubstr(folder / "file"));
}

}  // namespace
}  // namespace longhaul::observe
