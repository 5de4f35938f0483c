// Where the time of a measured step goes, op by op, against a roofline: the rate of matrix products and that
// of memory.
#pragma once

#include <string>
#include <vector>

#include "train/benchmark.h"

namespace longhaul::train {

// All figures are of one step.
struct OpLine {
    std::string op, extents;
    double calls = 0;
    double seconds = 0, flops = 0, bytes = 0;
    // What the call needs at the peak rates, the longer of its operations and its bytes. Bytes that are still
    // in a cache take less than that.
    double limit_seconds = 0;
    bool by_memory = false;
};

struct Breakdown {
    std::vector<OpLine> lines;  // longest first
    double step_seconds = 0;    // mean of the steps that were timed by op
    double product_seconds = 0, other_seconds = 0, outside_seconds = 0;
    double peak_flops = 0, memory_rate = 0;
};

// `memory_rate` in bytes a second. The benchmark must have been made by op.
[[nodiscard]] Breakdown break_down(const StepBenchmark& benchmark, double memory_rate);
[[nodiscard]] std::string breakdown_text(const Breakdown& breakdown);

}  // namespace longhaul::train
