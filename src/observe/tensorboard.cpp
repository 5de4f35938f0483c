// Event { 1: wall_time double, 2: step int64, 3: file_version string, 5: Summary, 7: SessionLog }
// Summary { 1: Value { 1: tag, 2: simple_value float, 8: TensorProto, 9: SummaryMetadata } }
#include "observe/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>

#include "base/error.h"
#include "base/time.h"

namespace longhaul::observe {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t c = i;
        for (int bit = 0; bit < 8; ++bit) c = (c >> 1U) ^ ((c & 1U) != 0 ? 0x82F63B78U : 0U);
        table[i] = c;
    }
    return table;
}
constexpr auto kTable = make_table();

std::uint32_t masked(std::string_view bytes) {
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
    return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

template <typename T>
std::string little(T value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFFU);
    return bytes;
}

std::string varint(std::uint64_t value) {
    std::string bytes;
    while (value >= 0x80U) {
        bytes += static_cast<char>((value & 0x7FU) | 0x80U);
        value >>= 7U;
    }
    return bytes + static_cast<char>(value);
}

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string key(std::uint32_t field, Wire wire) {
    return varint((static_cast<std::uint64_t>(field) << 3U) | static_cast<std::uint64_t>(wire));
}
std::string bytes_field(std::uint32_t field, std::string_view bytes) {
    return key(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}
std::string integer_field(std::uint32_t field, std::int64_t value) {
    return key(field, Wire::varint) + varint(static_cast<std::uint64_t>(value));
}

std::string event_head(std::int64_t step) {
    std::string event = key(1, Wire::fixed64) + little(std::bit_cast<std::uint64_t>(unix_time()));
    if (step != 0) event += integer_field(2, step);
    return event;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const std::byte b : bytes) crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<std::uint32_t>(b)) & 0xFFU];
    return ~crc;
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& directory, std::int64_t step) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    require(!error, ErrorCode::bad_data, "cannot make {}: {}", directory.string(), error.message());
    // Names sort by time; two processes of one second differ by their ids.
    path_ = directory / fmt::format("events.out.tfevents.{:010}.{}.{}",
                                    static_cast<std::int64_t>(unix_time()), host_name(), ::getpid());
    file_.open(path_, std::ios::binary | std::ios::app);
    require(file_.is_open(), ErrorCode::bad_data, "cannot open {}", path_.string());
    record(event_head(0) + bytes_field(3, "brain.Event:2"));
    if (step > 0)
        record(event_head(step + 1) + bytes_field(7, integer_field(1, 1)));  // SessionLog.status = START
}

void TensorBoardWriter::record(const std::string& event) {
    const std::string length = little(static_cast<std::uint64_t>(event.size()));
    file_ << length << little(masked(length)) << event << little(masked(event));
    require(file_.good(), ErrorCode::bad_data, "cannot write {}: the disk may be full", path_.string());
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value) {
    const std::string simple =
        key(2, Wire::fixed32) + little(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    record(event_head(step) + bytes_field(5, bytes_field(1, bytes_field(1, tag) + simple)));
}

void TensorBoardWriter::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
    // TensorProto { 1: dtype = DT_STRING (7), 2: shape { dim { size 1 } }, 8: string_val }; metadata names
    // the text plug-in.
    const std::string shape = bytes_field(2, bytes_field(2, integer_field(1, 1)));
    const std::string tensor = integer_field(1, 7) + shape + bytes_field(8, markdown);
    const std::string metadata = bytes_field(1, bytes_field(1, "text"));
    record(event_head(step) + bytes_field(5, bytes_field(1, bytes_field(1, tag) + bytes_field(8, tensor) +
                                                                bytes_field(9, metadata))));
}

}  // namespace longhaul::observe
