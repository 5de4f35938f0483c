// RUN/metrics.jsonl: one JSON object a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "observe/append_file.h"

namespace longhaul::observe {

struct StepMetrics {
    std::int64_t step = 0;
    double loss = 0;       // nats a token
    double grad_norm = 0;  // before clipping
    double lr = 0;
    std::int64_t tokens = 0;  // of the run so far
    double step_ms = 0;
    double tokens_per_s = 0;
    double mfu = 0;
    double bubble_ms = 0;        // waiting for other pipeline stages; 0 on one rank
    double exposed_comm_ms = 0;  // communication that nothing hid; 0 on one rank
    double data_wait_ms = 0;
    double checkpoint_stall_ms = 0;
    std::int64_t restarts = 0;
    bool skipped = false;
    std::optional<double> validation_loss;
};

class MetricsLog {
public:
    // Goes on after `step`: lines of later steps are what an interrupted run did beyond the checkpoint, and
    // are removed.
    MetricsLog(const std::filesystem::path& path, std::int64_t step);
    // Doubles read back to the same bits; what is not finite is null.
    void append(const StepMetrics& metrics);

private:
    AppendFile file_;
};

// All whole lines; a torn last one is passed over. Error bad_data names any other line that is no metrics
// object.
[[nodiscard]] std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);

// The file without lines of steps after `step` (0: all of them), replaced whole or not at all. Nothing where
// it is missing.
void truncate_after(const std::filesystem::path& path, std::int64_t step);

}  // namespace longhaul::observe
