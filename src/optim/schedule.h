// The learning rate of a step.
#pragma once

#include <cstdint>

#include "spec/run.h"

namespace longhaul::optim {

// Rate of step 1, 2, ...: a linear rise over `warmup` steps to lr (step w of the warm-up has w / warmup of
// it), then the schedule down to min_lr, where it stays: it never rises again, however many steps follow.
//   constant  lr
//   cosine    half a cosine from lr at the end of the warm-up to min_lr at decay_steps
//   linear    a straight line between the same ends
//   wsd       lr until the final fall of decay_steps, then a straight line to min_lr at the last step
[[nodiscard]] double learning_rate(const spec::Optimizer& optimizer, std::int64_t steps, std::int64_t step);

}  // namespace longhaul::optim
