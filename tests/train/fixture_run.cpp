// The executor on a fixture's weights and batches.
#include "train/fixture_run.h"

#include "checkpoint/hugging_face.h"
#include "data/samples.h"
#include "optim/optimizer.h"
#include "spec/validate.h"
#include "train/executor.h"
#include "train/memory_plan.h"

namespace longhaul::train {

std::filesystem::path fixture(const std::string& name) {
    return std::filesystem::path(LONGHAUL_FIXTURES) / name;
}

spec::Run fixture_spec(const std::string& name, spec::OptimizerName optimizer, DType precision) {
    spec::Run run;
    run.model = checkpoint::read_hf_config(fixture(name)).model;
    run.train.steps = 10;
    run.train.global_batch = 8;
    run.train.seq = 32;
    run.train.precision = precision;
    run.parallel.micro_batch = 8;
    run.optimizer.name = optimizer;
    run.optimizer.lr = 1e-3;
    run.optimizer.schedule = spec::Schedule::constant;
    run.data.prefetch = 0;
    return run;
}

FixtureRun run_fixture(const std::string& name, const spec::Run& run) {
    const kernels::Device device = kernels::Device::cpu();
    model::Parameters parameters(run.model, run.train.precision, model::Gradients::yes, nullptr);
    checkpoint::read_hf_weights(fixture(name), run.model, parameters.layout(), parameters.masters());
    parameters.refresh_copies(device);
    model::Stage stage(device, run.model, parameters, stage_options(run), nullptr);
    optim::Optimizer optimizer(run.optimizer, device, parameters, nullptr);

    data::SampleOptions options;
    options.sequence = spec::sequence(run);
    options.vocab = run.model.vocab;
    const auto source = data::open_npy(fixture(name) / "batches.npy", options, run.train.global_batch);
    std::vector<std::int32_t> samples(
        static_cast<std::size_t>(run.train.global_batch * (options.sequence + 1)));
    std::int64_t consumed = 0;
    Executor executor(run, stage, optimizer, [&]() -> std::span<const std::int32_t> {
        for (std::int64_t s = 0; s < run.train.global_batch; ++s) {
            source->read(consumed++,
                         std::span(samples).subspan(static_cast<std::size_t>(s * (options.sequence + 1)),
                                                    static_cast<std::size_t>(options.sequence + 1)));
        }
        return samples;
    });

    FixtureRun result;
    const auto& tensors = parameters.layout().tensors;
    for (std::int64_t step = 1; step <= run.train.steps; ++step) {
        const StepOutcome outcome = executor.run_step(step, step);
        result.losses.push_back(outcome.loss);
        result.grad_norms.push_back(outcome.norms.global);
        for (std::size_t i = 0; step == 1 && i < tensors.size(); ++i) {
            result.first_tensor_norms[checkpoint::hf_name(run.model, tensors[i].name)] =
                outcome.norms.by_tensor[i];
        }
    }
    const auto norms = optim::weight_norms(device, parameters);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        result.final_weight_norms[checkpoint::hf_name(run.model, tensors[i].name)] = norms[i];
    return result;
}

}  // namespace longhaul::train
