// Units.
#include "cli/output.h"

#include <fmt/format.h>

namespace longhaul::cli {

std::string human_bytes(std::size_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes >= (std::size_t{1} << 30U)) return fmt::format("{:.2f} GiB", value / 0x1p30);
    if (bytes >= (std::size_t{1} << 20U)) return fmt::format("{:.1f} MiB", value / 0x1p20);
    if (bytes >= (std::size_t{1} << 10U)) return fmt::format("{:.1f} KiB", value / 0x1p10);
    return fmt::format("{} B", bytes);
}

std::string human_flops(double flops_per_s) {
    if (flops_per_s >= 1e12) return fmt::format("{:.2f} TFLOP/s", flops_per_s / 1e12);
    return fmt::format("{:.1f} GFLOP/s", flops_per_s / 1e9);
}

}  // namespace longhaul::cli
