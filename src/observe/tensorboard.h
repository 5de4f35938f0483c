// TensorBoard event files: TFRecord frames around protocol-buffer messages, written by hand since there are
// only two.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace longhaul::observe {

// CRC-32C (Castagnoli), as TFRecord frames carry it, before masking.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes);

class TensorBoardWriter {
public:
    // A new file in `directory`. A run that goes on at `step` begins with a session start at step + 1, at
    // which TensorBoard drops what an interrupted run wrote of later steps.
    TensorBoardWriter(const std::filesystem::path& directory, std::int64_t step);
    void scalar(std::string_view tag, std::int64_t step, double value);
    // Text that TensorBoard shows as Markdown (the configuration, say).
    void text(std::string_view tag, std::int64_t step, std::string_view markdown);
    void flush() { file_.flush(); }

private:
    void record(const std::string& event);
    std::filesystem::path path_;
    std::ofstream file_;
};

}  // namespace longhaul::observe
