// Units.
#include "cli/output.h"

#include <fmt/format.h>

namespace longhaul::cli {

std::string human_flops(double flops_per_s) {
    if (flops_per_s >= 1e12) return fmt::format("{:.2f} TFLOP/s", flops_per_s / 1e12);
    return fmt::format("{:.1f} GFLOP/s", flops_per_s / 1e9);
}

}  // namespace longhaul::cli
