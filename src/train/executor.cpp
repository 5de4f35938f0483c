// Actions on one rank.
#include "train/executor.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/time.h"
#include "optim/schedule.h"
#include "spec/validate.h"

namespace longhaul::train {

Executor::Executor(const spec::Run& run, model::Stage& stage, optim::Optimizer& optimizer,
                   StepSamples samples)
    : run_(run),
      stage_(stage),
      optimizer_(optimizer),
      samples_(std::move(samples)),
      plan_(schedule::make_step_plan({spec::micro_batches(run)})) {
    const auto tokens = static_cast<std::size_t>(run.train.global_batch * spec::sequence(run));
    inputs_.resize(tokens);
    targets_.resize(tokens);
}

StepOutcome Executor::run_step(std::int64_t step, std::int64_t update) {
    outcome_ = {};
    loss_sum_ = 0;
    for (const schedule::Action& action : plan_) {
        const Stopwatch watch;
        switch (action.kind) {
            case schedule::ActionKind::load:
                load();
                outcome_.times.load += watch.seconds();
                break;
            case schedule::ActionKind::forward:
                forward(action.micro_batch, step);
                outcome_.times.forward += watch.seconds();
                break;
            case schedule::ActionKind::backward:
                stage_.backward();
                outcome_.times.backward += watch.seconds();
                break;
            case schedule::ActionKind::optimizer_step:
                optimizer_step(step, update);
                outcome_.times.optimizer += watch.seconds();
                break;
        }
    }
    return outcome_;
}

void Executor::load() {
    outcome_.targets = split_samples(samples_(), spec::sequence(run_), inputs_, targets_);
    require(outcome_.targets > 0, ErrorCode::bad_data,
            "a step's samples hold no token to predict: all of them are padding");
}

void Executor::forward(std::int64_t micro_batch, std::int64_t step) {
    const auto tokens = static_cast<std::size_t>(run_.parallel.micro_batch * spec::sequence(run_));
    const std::size_t first = static_cast<std::size_t>(micro_batch) * tokens;
    const model::MicroBatch batch{std::span(inputs_).subspan(first, tokens),
                                  std::span(targets_).subspan(first, tokens)};
    const model::Occasion occasion{run_.model.dropout, static_cast<std::uint64_t>(run_.train.seed),
                                   static_cast<std::uint64_t>(step), micro_batch * run_.parallel.micro_batch};
    // Every token of the step weighs the same, whichever micro-batch it is in.
    loss_sum_ +=
        stage_.forward(batch, occasion, static_cast<float>(1.0 / static_cast<double>(outcome_.targets)));
}

void Executor::optimizer_step(std::int64_t step, std::int64_t update) {
    outcome_.loss = loss_sum_ / static_cast<double>(outcome_.targets);
    outcome_.lr = optim::learning_rate(run_.optimizer, run_.train.steps, step);
    outcome_.norms = optimizer_.gradient_norms();
    outcome_.skipped = !std::isfinite(outcome_.loss) || !std::isfinite(outcome_.norms.global);
    if (!outcome_.skipped) optimizer_.step(update, outcome_.lr, outcome_.norms.global);
    optimizer_.zero_gradients();
}

std::int64_t split_samples(std::span<const std::int32_t> samples, std::int64_t seq,
                           std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
    const auto count = div_exact<std::int64_t>(std::ssize(samples), seq + 1);
    require(std::ssize(inputs) == count * seq && std::ssize(targets) == count * seq, ErrorCode::internal,
            "{} samples of {} tokens do not fill {} inputs", count, seq, inputs.size());
    std::int64_t counted = 0;
    for (std::int64_t s = 0; s < count; ++s) {
        const auto sample =
            samples.subspan(static_cast<std::size_t>(s * (seq + 1)), static_cast<std::size_t>(seq + 1));
        for (std::int64_t t = 0; t < seq; ++t) {
            const auto at = static_cast<std::size_t>(s * seq + t);
            // Padding as an input reads token 0; causal attention keeps it from the tokens before it.
            inputs[at] = std::max(sample[static_cast<std::size_t>(t)], 0);
            targets[at] = sample[static_cast<std::size_t>(t + 1)];
            counted += targets[at] >= 0 ? 1 : 0;
        }
    }
    return counted;
}

}  // namespace longhaul::train
