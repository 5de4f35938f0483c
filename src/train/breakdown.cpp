// Sums to lines, lines to a table.
#include "train/breakdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace longhaul::train {

Breakdown break_down(const StepBenchmark& benchmark, double memory_rate) {
    require(!benchmark.ops.empty() && benchmark.steps > 0 && memory_rate > 0, ErrorCode::internal,
            "a breakdown of steps that were not timed by op");
    const auto steps = static_cast<double>(benchmark.steps);
    Breakdown b;
    b.peak_flops = benchmark.peak_flops;
    b.memory_rate = memory_rate;
    b.step_seconds = benchmark.step_ms_mean / 1e3;
    for (const kernels::OpRecord& r : benchmark.ops) {
        OpLine line;
        line.op = r.op;
        line.extents = r.extents;
        line.calls = static_cast<double>(r.calls) / steps;
        line.seconds = r.seconds / steps;
        line.flops = r.flops / steps;
        line.bytes = r.bytes / steps;
        const double compute = line.flops / b.peak_flops;
        const double memory = line.bytes / memory_rate;
        line.by_memory = memory > compute;
        line.limit_seconds = std::max(compute, memory);
        (r.product ? b.product_seconds : b.other_seconds) += line.seconds;
        b.lines.push_back(std::move(line));
    }
    b.outside_seconds = std::max(0.0, b.step_seconds - b.product_seconds - b.other_seconds);
    std::stable_sort(b.lines.begin(), b.lines.end(),
                     [](const OpLine& x, const OpLine& y) { return x.seconds > y.seconds; });
    return b;
}

std::string breakdown_text(const Breakdown& b) {
    std::string text = fmt::format("  limits: {:.1f} GFLOP/s, {:.1f} GB/s; one step, mean\n",
                                   b.peak_flops / 1e9, b.memory_rate / 1e9);
    text += fmt::format("  {:<20} {:<20} {:>6} {:>9} {:>6} {:>9} {:>8} {:>8} {:>8}\n", "op", "extents",
                        "calls", "ms", "step", "GFLOP", "MB", "bound", "limit");
    for (const OpLine& line : b.lines) {
        text += fmt::format("  {:<20} {:<20} {:>6.0f} {:>9.2f} {:>5.1f}% {:>9.2f} {:>8.1f} {:>8} {:>7.1f}%\n",
                            line.op, line.extents, line.calls, line.seconds * 1e3,
                            100 * line.seconds / b.step_seconds, line.flops / 1e9, line.bytes / 1e6,
                            line.by_memory ? "memory" : "compute", 100 * line.limit_seconds / line.seconds);
    }
    const auto part = [&](const char* name, double seconds) {
        text +=
            fmt::format("  {:<48} {:>9.2f} {:>5.1f}%\n", name, seconds * 1e3, 100 * seconds / b.step_seconds);
    };
    part("matrix products, attention included", b.product_seconds);
    part("other ops", b.other_seconds);
    part("outside ops", b.outside_seconds);
    return text;
}

}  // namespace longhaul::train
