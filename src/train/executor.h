// Runs the step plan of one rank: every action in order, on the stage, the optimizer and the step's samples.
#pragma once

#include <functional>
#include <vector>

#include "model/stage.h"
#include "optim/optimizer.h"
#include "schedule/plan.h"
#include "spec/run.h"

namespace longhaul::train {

// Samples of a step: [global_batch, seq + 1] token ids; valid until the next call. Negative ids are padding.
using StepSamples = std::function<std::span<const std::int32_t>()>;

// Seconds of the step's phases.
struct StepTimes {
    double load = 0, forward = 0, backward = 0, optimizer = 0;
    [[nodiscard]] double total() const { return load + forward + backward + optimizer; }
};

struct StepOutcome {
    double loss = 0;  // nats a token, over all tokens with a target in the step
    double lr = 0;
    optim::GradientNorms norms;
    std::int64_t targets = 0;  // tokens that counted
    bool skipped = false;      // loss or norm was not finite: weights and moments were left alone
    StepTimes times;
};

class Executor {
public:
    // All references must outlive the executor.
    Executor(const spec::Run& run, model::Stage& stage, optim::Optimizer& optimizer, StepSamples samples);

    // Step 1, 2, ...; `update` counts the updates that were made before and this one, for the optimizer's
    // bias correction. Gradients must be zero and are zero again afterwards.
    StepOutcome run_step(std::int64_t step, std::int64_t update);

    [[nodiscard]] const std::vector<schedule::Action>& plan() const { return plan_; }

private:
    void load();
    void forward(std::int64_t micro_batch, std::int64_t step);
    void optimizer_step(std::int64_t step, std::int64_t update);

    const spec::Run& run_;
    model::Stage& stage_;
    optim::Optimizer& optimizer_;
    StepSamples samples_;
    std::vector<schedule::Action> plan_;
    std::vector<std::int32_t> inputs_, targets_;  // [global_batch x seq]
    double loss_sum_ = 0;
    StepOutcome outcome_;
};

// Splits samples [count, seq + 1] into inputs and targets [count x seq]. Returns the targets >= 0.
std::int64_t split_samples(std::span<const std::int32_t> samples, std::int64_t seq,
                           std::span<std::int32_t> inputs, std::span<std::int32_t> targets);

}  // namespace longhaul::train
