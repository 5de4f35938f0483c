// The training loop of one rank: builds the model, resumes, runs step after step, evaluates, saves, reports.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "spec/run.h"

namespace longhaul::train {

struct TrainerOptions {
    std::filesystem::path run_dir;
    std::string resume = "auto";               // auto | never | a checkpoint
    bool terminal = false;                     // standard error is a terminal: draw the bar
    const std::atomic<int>* signal = nullptr;  // number of the signal that asked to stop; 0: none
};

struct Summary {
    std::int64_t first_step = 0;  // before this process: 0 or the resumed step
    std::int64_t last_step = 0;
    std::int64_t steps = 0;    // made by this process
    std::int64_t skipped = 0;  // of the whole run
    std::int64_t tokens = 0;   // of the whole run
    double seconds = 0;
    double first_loss = 0;
    double last_loss = 0;
    std::optional<double> first_validation_loss, last_validation_loss;
    double tokens_per_s = 0;  // median over steps
    double mfu = 0;           // median over steps
    double peak_flops = 0;
    std::size_t planned_bytes = 0;
    std::size_t used_bytes = 0;
    std::size_t resident_bytes = 0;
    std::string checkpoint;  // the newest
    std::string sample;
    int interrupted_by = 0;  // signal, 0: ran to its end
};

// Error bad_config, bad_data or training_failed.
Summary train(const spec::Run& run, const TrainerOptions& options);

}  // namespace longhaul::train
