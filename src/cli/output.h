// What subcommands share: printing of JSON documents and of numbers with units.
#pragma once

#include <cstddef>
#include <string>

namespace longhaul::cli {

// "512 B", "1.5 MiB", "3.20 GiB".
[[nodiscard]] std::string human_bytes(std::size_t bytes);
// "259.7 GFLOP/s", "1.32 TFLOP/s".
[[nodiscard]] std::string human_flops(double flops_per_s);

}  // namespace longhaul::cli
