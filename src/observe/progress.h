// Progress on standard error: one line that is drawn anew on a terminal, a plain line now and then elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "observe/metrics.h"

namespace longhaul::observe {

struct ProgressOptions {
    std::int64_t total = 0;      // steps of the run
    std::int64_t first = 0;      // steps that were made before this process
    std::int64_t log_every = 1;  // steps between lines where there is no terminal
    bool terminal = false;
    int columns = 0;                              // width of the line; 0: the terminal's
    std::function<void(std::string_view)> write;  // default: standard error
};

class Progress {
public:
    explicit Progress(ProgressOptions options);
    ~Progress() { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void step(const StepMetrics& metrics);
    // Clears the line, so that a log line can be written; the next step draws it again.
    void interrupt();
    // Leaves the last line standing.
    void finish();

private:
    [[nodiscard]] std::string figures(const StepMetrics& metrics) const;
    [[nodiscard]] std::string bar_line(const StepMetrics& metrics) const;
    ProgressOptions options_;
    Stopwatch since_start_;
    Stopwatch since_drawn_;
    bool drawn_ = false;
};

}  // namespace longhaul::observe
