// Units and the progress line.
#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace longhaul::cli {

std::string human_flops(double flops_per_s) {
    if (flops_per_s >= 1e12) return fmt::format("{:.2f} TFLOP/s", flops_per_s / 1e12);
    return fmt::format("{:.1f} GFLOP/s", flops_per_s / 1e9);
}

std::string human_bytes(double bytes) {
    if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
    if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
    return fmt::format("{:.1f} kB", bytes / 1e3);
}

PercentLine::PercentLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void PercentLine::show(const std::string& what, std::uint64_t done, std::uint64_t total,
                       const std::string& figures) {
    if (!terminal_) return;
    constexpr int kWidth = 24;
    std::string bar;
    if (total > 0) {
        const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
        const auto filled = static_cast<std::size_t>(share * kWidth);
        bar = fmt::format("[{}{}] {:3.0f}% ", std::string(filled, '='), std::string(kWidth - filled, ' '),
                          100 * share);
    }
    fmt::print(stderr, "\r{} {} {}\033[K", what, bar, figures);
    std::fflush(stderr);
    drawn_ = true;
}

void PercentLine::clear() {
    if (drawn_) fmt::print(stderr, "\r\033[K");
    drawn_ = false;
}

}  // namespace longhaul::cli
