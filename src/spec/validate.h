// Faults that no single option has: relations between options of a run.
#pragma once

#include <string>
#include <vector>

#include "spec/run.h"

namespace longhaul::spec {

// Each fault as one sentence with the nearest legal choice; the model's own faults included.
[[nodiscard]] std::vector<std::string> faults(const Run& run);

// Tokens of a training sequence.
[[nodiscard]] std::int64_t sequence(const Run& run);

// Steps of the final fall of a warm-up-stable-decay schedule.
[[nodiscard]] std::int64_t wsd_decay_steps(const Optimizer& optimizer, std::int64_t steps);

// Micro-batches of a step.
[[nodiscard]] std::int64_t micro_batches(const Run& run);

// Whether data.train is one .npy file of batches rather than packed prefixes.
[[nodiscard]] bool trains_on_npy(const Data& data);

}  // namespace longhaul::spec
