// The safetensors format: a reader that trusts nothing in the file, and a streaming writer whose bytes depend
// on its input alone. Format: 8 bytes of header length (little endian), a JSON header, then the tensors'
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "checkpoint/durable.h"
#include "tensor/dtype.h"

namespace longhaul::checkpoint {

struct TensorEntry {
    std::string name;
    std::string dtype;  // as the file spells it: "F32", "BF16", ...; it may be one that we can't read
    std::vector<std::int64_t> shape;
    std::size_t begin = 0;  // bytes from the start of the data section
    std::size_t end = 0;
    [[nodiscard]] std::int64_t count() const;
    [[nodiscard]] std::string shape_text() const;  // "[2, 3]"
    // F64, F32, F16 or BF16.
    [[nodiscard]] bool is_float() const;
};

// Checks on opening: header length, JSON, duplicate names, sizes of known dtypes, and that the tensors cover
// the data section without overlap or hole. Error bad_data names file, tensor and what to do.
class SafetensorsReader {
public:
    // Maps the file; what bytes() returns lives as long as the reader.
    explicit SafetensorsReader(const std::filesystem::path& path);
    // Over bytes that the caller keeps; `name` stands for the file in messages.
    SafetensorsReader(std::span<const std::byte> bytes, std::string name);

    [[nodiscard]] const std::string& name() const { return name_; }
    // In order of offset.
    [[nodiscard]] const std::vector<TensorEntry>& entries() const { return entries_; }
    // nullptr where there is no such tensor.
    [[nodiscard]] const TensorEntry* find(std::string_view tensor) const;
    [[nodiscard]] std::span<const std::byte> bytes(const TensorEntry& entry) const;
    // Converts to fp32 (exactly, except from F64). `out` holds entry.count() values. Error bad_data where the
    // dtype is not a float.
    void read_float(const TensorEntry& entry, std::span<float> out) const;
    // The header's __metadata__.
    [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }

private:
    void parse(std::span<const std::byte> file);
    std::string name_;
    MappedFile map_;
    std::span<const std::byte> data_;
    std::vector<TensorEntry> entries_;
    std::unordered_map<std::string, std::size_t> index_;
    std::map<std::string, std::string> metadata_;
};

struct TensorSpec {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    [[nodiscard]] std::size_t bytes() const;
};

struct WrittenFile {
    std::size_t bytes = 0;
    std::uint64_t hash = 0;                    // XXH3 of the whole file
    std::vector<std::uint64_t> tensor_hashes;  // XXH3 of each tensor's bytes, in the order of the specs
};

// Writes the header at once, then takes each tensor's bytes in the order of the specs. Only finish() makes
// the file whole and durable; what an unfinished writer leaves behind is the caller's to remove.
class SafetensorsWriter {
public:
    SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> specs,
                      const std::map<std::string, std::string>& metadata, const WriteOptions& options = {});
    // The bytes of the next tensor, all of them.
    void write(std::span<const std::byte> bytes);
    WrittenFile finish();

private:
    std::vector<TensorSpec> specs_;
    DurableFile file_;
    WrittenFile written_;
};

// How a safetensors header spells one of our types: "F32".
[[nodiscard]] std::string_view safetensors_dtype(DType dtype);

}  // namespace longhaul::checkpoint
