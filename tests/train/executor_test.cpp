// The step as a whole: tokens weigh the same in any micro-batch, bad steps leave everything as it was, the
// optimizer is told apart from the steps.
#include "train/executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "train/memory_plan.h"

namespace longhaul::train {

namespace {

spec::Run tiny_run() {
    spec::Run run;
    run.model = spec::find_preset("gpt2-tiny")->model;
    run.model.vocab = 97;
    run.model.seq = 16;
    run.train.precision = DType::f32;
    run.train.global_batch = 8;
    run.parallel.micro_batch = 8;
    run.optimizer.lr = 1e-2;
    run.optimizer.schedule = spec::Schedule::constant;
    return run;
}

// Ragged samples: sequence s has only its first 1 + 2 s targets, the rest is padding.
std::vector<std::int32_t> ragged_samples(const spec::Run& run) {
    std::mt19937 random(4);
    std::vector<std::int32_t> samples;
    for (std::int64_t s = 0; s < run.train.global_batch; ++s) {
        for (std::int64_t t = 0; t <= run.model.seq; ++t) {
            samples.push_back(
                t <= 1 + 2 * s ? static_cast<std::int32_t>(random() % static_cast<unsigned>(run.model.vocab))
                               : -1);
        }
    }
    return samples;
}

struct Rig {
    explicit Rig(const spec::Run& r, const std::vector<std::int32_t>& samples)
        : run(r),
          device(kernels::Device::cpu()),
          parameters(run.model, run.train.precision, model::Gradients::yes, nullptr),
          stage(device, run.model, parameters, stage_options(run), nullptr),
          optimizer(run.optimizer, device, parameters, nullptr),
          executor(run, stage, optimizer, [&samples]() -> std::span<const std::int32_t> { return samples; }) {
        parameters.initialise(1);
        parameters.refresh_copies(device);
    }
    spec::Run run;
    kernels::Device device;
    model::Parameters parameters;
    model::Stage stage;
    optim::Optimizer optimizer;
    Executor executor;
};

}  // namespace

TEST(Executor, A13_accumulation_weights_tokens_not_micro_batches) {
    spec::Run run = tiny_run();
    const auto samples = ragged_samples(run);
    Rig whole(run, samples);
    const StepOutcome once = whole.executor.run_step(1, 1);
    EXPECT_EQ(once.targets, 8 + 2 * (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7));
    for (const std::int64_t micro_batch : {1, 2, 4}) {
        run.parallel.micro_batch = micro_batch;
        Rig cut(run, samples);
        const StepOutcome outcome = cut.executor.run_step(1, 1);
        EXPECT_NEAR(outcome.loss, once.loss, 1e-6 * once.loss);
        EXPECT_NEAR(outcome.norms.global, once.norms.global, 1e-5 * once.norms.global);
    }
}

TEST(Executor, StepThatIsNotFiniteChangesNothing) {
    const spec::Run run = tiny_run();
    const auto samples = ragged_samples(run);
    Rig rig(run, samples);
    rig.executor.run_step(1, 1);
    const auto* bias = rig.parameters.layout().find("final_norm.bias");
    rig.parameters.master(*bias)[0] = std::numeric_limits<float>::infinity();
    const std::vector<float> weights(rig.parameters.masters().begin(), rig.parameters.masters().end());
    const std::vector<float> moments(rig.optimizer.first_moments().begin(),
                                     rig.optimizer.first_moments().end());
    const StepOutcome bad = rig.executor.run_step(2, 2);
    EXPECT_TRUE(bad.skipped);
    EXPECT_EQ(weights, std::vector<float>(rig.parameters.masters().begin(), rig.parameters.masters().end()));
    EXPECT_EQ(moments,
              std::vector<float>(rig.optimizer.first_moments().begin(), rig.optimizer.first_moments().end()));
    // And the next one is as if it had not been.
    rig.parameters.master(*bias)[0] = weights[0];
    rig.parameters.master(*bias)[0] = 0.0F;
    EXPECT_FALSE(rig.executor.run_step(3, 2).skipped);
}

TEST(Executor, PaddingAloneIsRefused) {
    const spec::Run run = tiny_run();
    const std::vector<std::int32_t> samples(
        static_cast<std::size_t>(run.train.global_batch * (run.model.seq + 1)), -1);
    Rig rig(run, samples);
    EXPECT_THROW(rig.executor.run_step(1, 1), Error);
}

TEST(Executor, LossFallsOnRepeatedData) {
    for (const DType precision : {DType::f32, DType::bf16}) {
        spec::Run run = tiny_run();
        run.train.precision = precision;
        const auto samples = ragged_samples(run);
        Rig rig(run, samples);
        const double first = rig.executor.run_step(1, 1).loss;
        double last = first;
        for (std::int64_t step = 2; step <= 40; ++step) last = rig.executor.run_step(step, step).loss;
        EXPECT_NEAR(first, std::log(97.0), 0.3);
        EXPECT_LT(last, 0.3 * first);
    }
}

}  // namespace longhaul::train
