// What subcommands share: numbers with units, a line of progress.
#pragma once

#include <cstdint>
#include <string>

namespace longhaul::cli {

// "259.7 GFLOP/s", "1.32 TFLOP/s".
[[nodiscard]] std::string human_flops(double flops_per_s);

// "12.3 MB".
[[nodiscard]] std::string human_bytes(double bytes);

// One line on standard error that is drawn anew, where that is a terminal; nothing elsewhere.
class PercentLine {
public:
    PercentLine();
    ~PercentLine() { clear(); }
    PercentLine(const PercentLine&) = delete;
    PercentLine& operator=(const PercentLine&) = delete;
    // `total` 0: not known. `figures` stand behind the bar.
    void show(const std::string& what, std::uint64_t done, std::uint64_t total, const std::string& figures);
    void clear();

private:
    bool terminal_;
    bool drawn_ = false;
};

}  // namespace longhaul::cli
