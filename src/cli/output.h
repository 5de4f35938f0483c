// What subcommands share: numbers with units.
#pragma once

#include <string>

namespace longhaul::cli {

// "259.7 GFLOP/s", "1.32 TFLOP/s".
[[nodiscard]] std::string human_flops(double flops_per_s);

}  // namespace longhaul::cli
