// The format's reader against well-formed and hostile bytes; the writer against the reader.
#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support.h"

namespace longhaul::checkpoint {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using testing::error_of;
using testing::Scratch;

std::string file_of(const std::string& header, std::size_t data_bytes) {
    std::string text(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(text.data(), &length, sizeof(length));
    return text + header + std::string(data_bytes, '\x01');
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string refusal(const std::string& file) {
    return error_of(ErrorCode::bad_data, [&] { SafetensorsReader reader(bytes_of(file), "x.safetensors"); });
}

TEST(Safetensors, reads_what_it_writes) {
    const Scratch scratch;
    const std::vector<float> a = {1.5F, -0.0F, std::numeric_limits<float>::infinity(), 1e-45F, 5, 6};
    const std::vector<std::uint16_t> b = {0x3F80, 0x7F80, 0xC000};
    const fs::path path = scratch / "a.safetensors";
    SafetensorsWriter writer(path,
                             {{"a \"quoted\"/\u00e9", DType::f32, {2, 3}},
                              {"b", DType::bf16, {3}},
                              {"none", DType::f32, {0, 7}},
                              {"scalar", DType::f16, {}}},
                             {{"format", "pt"}});
    const std::uint16_t half = 0x3C00;
    writer.write(std::as_bytes(std::span(a)));
    writer.write(std::as_bytes(std::span(b)));
    writer.write({});
    writer.write(std::as_bytes(std::span(&half, 1)));
    const WrittenFile written = writer.finish();
    EXPECT_EQ(written.bytes, fs::file_size(path));
    EXPECT_EQ(written.hash, hash_file(path, true).hash);
    EXPECT_EQ(written.tensor_hashes.size(), 4U);
    EXPECT_EQ(written.tensor_hashes[0], hash64(std::as_bytes(std::span(a))));

    const SafetensorsReader reader(path);
    EXPECT_EQ(reader.metadata().at("format"), "pt");
    ASSERT_EQ(reader.entries().size(), 4U);
    const TensorEntry* first = reader.find("a \"quoted\"/\u00e9");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->shape_text(), "[2, 3]");
    std::vector<float> read(6);
    reader.read_float(*first, read);
    EXPECT_EQ(std::memcmp(read.data(), a.data(), 24), 0);
    read.resize(3);
    reader.read_float(*reader.find("b"), read);
    EXPECT_EQ(read, (std::vector<float>{1.0F, std::numeric_limits<float>::infinity(), -2.0F}));
    read.resize(1);
    reader.read_float(*reader.find("scalar"), read);
    EXPECT_EQ(read[0], 1.0F);
    reader.read_float(*reader.find("none"), {});
    EXPECT_EQ(reader.find("c"), nullptr);
    // The data section starts on 8 bytes.
    std::uint64_t header = 0;
    std::memcpy(&header, read_file(path).data(), 8);
    EXPECT_EQ(header % 8, 0U);
}

TEST(Safetensors, half_and_double_values) {
    const std::string header =
        R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"d":{"dtype":"F64","shape":[3],"data_offsets":[4,28]}})";
    std::string file = file_of(header, 0);
    const std::uint16_t halves[] = {0x0001, 0xFC00};
    const double doubles[] = {0.1, 1e300, -1e300};
    file.append(reinterpret_cast<const char*>(halves), 4);
    file.append(reinterpret_cast<const char*>(doubles), 24);
    const SafetensorsReader reader(bytes_of(file), "x");
    std::vector<float> out(2);
    reader.read_float(*reader.find("h"), out);
    EXPECT_EQ(out[0], std::ldexp(1.0F, -24));
    EXPECT_EQ(out[1], -std::numeric_limits<float>::infinity());
    out.resize(3);
    reader.read_float(*reader.find("d"), out);
    EXPECT_EQ(out[0], 0.1F);
    EXPECT_EQ(out[1], std::numeric_limits<float>::infinity());
    EXPECT_EQ(out[2], -std::numeric_limits<float>::infinity());
}

TEST(Safetensors, unknown_dtypes_are_kept_but_not_read) {
    const std::string file = file_of(
        R"({"q":{"dtype":"F4_NEW","shape":[3],"data_offsets":[0,2]},"i":{"dtype":"I64","shape":[1],"data_offsets":[2,10]}})",
        10);
    const SafetensorsReader reader(bytes_of(file), "x");
    EXPECT_EQ(reader.bytes(*reader.find("q")).size(), 2U);
    std::vector<float> out(3);
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { reader.read_float(*reader.find("q"), out); }),
                HasSubstr("tensor q holds F4_NEW"));
    EXPECT_THAT(
        error_of(ErrorCode::bad_data, [&] { reader.read_float(*reader.find("i"), std::span(out).first(1)); }),
        HasSubstr("I64"));
}

TEST(Safetensors, refuses_hostile_headers) {
    EXPECT_THAT(refusal(""), HasSubstr("has 0 bytes"));
    EXPECT_THAT(refusal("1234567"), HasSubstr("has 7 bytes"));
    EXPECT_THAT(refusal(std::string(8, '\xFF')), HasSubstr("a header of 18446744073709551615 bytes"));
    EXPECT_THAT(refusal(file_of("{}", 0).substr(0, 9)), HasSubstr("a header of 2 bytes"));
    EXPECT_THAT(refusal(file_of("", 0)), HasSubstr("not JSON"));
    EXPECT_THAT(refusal(file_of("[]", 0)), HasSubstr("not a JSON object"));
    EXPECT_THAT(refusal(file_of("{\"a\":1}", 0)), HasSubstr("tensor a: needs dtype"));
    EXPECT_THAT(refusal(file_of("{} trailing", 0)), HasSubstr("not JSON"));
    EXPECT_THAT(refusal(file_of("{\"\xFF\":1}", 0)), HasSubstr("not JSON"));
    EXPECT_THAT(refusal(file_of(std::string(200000, '['), 0)), HasSubstr("nested too deeply"));
    std::string nested;
    for (int i = 0; i < 50000; ++i) nested += "{\"a\":";
    EXPECT_THAT(refusal(file_of(nested, 0)), HasSubstr("nested too deeply"));
    EXPECT_THAT(refusal(file_of("{}", 1)), HasSubstr("1 bytes after the last tensor belong to none"));
    EXPECT_THAT(refusal(file_of(R"({"__metadata__":{"a":1}})", 0)),
                HasSubstr("__metadata__ a is not a string"));
    EXPECT_THAT(refusal(file_of(R"({"__metadata__":[]})", 0)), HasSubstr("__metadata__ is not an object"));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& at) {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + at +
           "}";
}

TEST(Safetensors, refuses_wrong_entries) {
    const auto refused = [](const std::string& entries, std::size_t data) {
        return refusal(file_of("{" + entries + "}", data));
    };
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8]") + "," + entry("a", "F32", "[2]", "[8,16]"), 16),
                HasSubstr("listed twice"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[2]", "[4,12]"), 12),
                HasSubstr("overlaps"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[2]", "[12,20]"), 20),
                HasSubstr("hole"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[4,12]"), 12), HasSubstr("hole"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8]"), 12), HasSubstr("belong to none"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8]"), 7), HasSubstr("cut short"));
    EXPECT_THAT(refused(entry("a", "F32", "[3]", "[0,8]"), 8),
                HasSubstr("3 values of F32 do not take 8 bytes"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[8,0]"), 8), HasSubstr("lie outside"));
    EXPECT_THAT(refused(entry("a", "F32", "[-2]", "[0,8]"), 8), HasSubstr("whole number"));
    EXPECT_THAT(refused(entry("a", "F32", "[2.0]", "[0,8]"), 8), HasSubstr("whole number"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8.0]"), 8), HasSubstr("whole numbers"));
    EXPECT_THAT(refused(entry("a", "F32", "[2]", "[0,8,9]"), 8), HasSubstr("pair"));
    EXPECT_THAT(refused(entry("a", "F32", "2", "[0,8]"), 8), HasSubstr("not a list"));
    // Products that wrap around 64 bits, to a size that would fit.
    EXPECT_THAT(refused(entry("a", "F32", "[4294967296,4294967296]", "[0,0]"), 0),
                HasSubstr("too many elements"));
    EXPECT_THAT(refused(entry("a", "F32", "[4611686018427387904]", "[0,0]"), 0),
                HasSubstr("do not take 0 bytes"));
    EXPECT_THAT(refused(entry("a", "F32", "[18446744073709551615]", "[0,0]"), 0), HasSubstr("whole number"));
    EXPECT_THAT(refused(R"("a":{"dtype":3,"shape":[],"data_offsets":[0,0]})", 0),
                HasSubstr("dtype is not a string"));
    // Names of a damaged file do not reach the terminal as they are.
    EXPECT_THAT(refused(entry("\\u001b[2J", "F32", "[3]", "[0,8]"), 8), HasSubstr("tensor ?[2J"));
}

TEST(Safetensors, same_input_same_bytes) {
    const Scratch scratch;
    const std::vector<float> values = {1, 2, 3};
    for (const char* name : {"a", "b"}) {
        SafetensorsWriter writer(scratch / name, {{"t", DType::f32, {3}}}, {{"x", "1"}, {"format", "pt"}});
        writer.write(std::as_bytes(std::span(values)));
        (void)writer.finish();
    }
    EXPECT_EQ(read_file(scratch / "a"), read_file(scratch / "b"));
}

TEST(Safetensors, writer_refuses_wrong_use) {
    const Scratch scratch;
    const std::vector<float> values = {1, 2, 3};
    SafetensorsWriter writer(scratch / "a", {{"t", DType::f32, {3}}}, {});
    EXPECT_THAT(error_of(ErrorCode::internal, [&] { (void)writer.finish(); }), HasSubstr("0 tensors of 1"));
    EXPECT_THAT(
        error_of(ErrorCode::internal, [&] { writer.write(std::as_bytes(std::span(values).first(2))); }),
        HasSubstr("takes 12 bytes, not 8"));
    writer.write(std::as_bytes(std::span(values)));
    EXPECT_THAT(error_of(ErrorCode::internal, [&] { writer.write(std::as_bytes(std::span(values))); }),
                HasSubstr("more tensors"));
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { SafetensorsWriter again(scratch / "a", {}, {}); }),
                HasSubstr("File exists"));
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { SafetensorsReader r(scratch / "missing"); }),
                HasSubstr("No such file"));
}

}  // namespace
}  // namespace longhaul::checkpoint
