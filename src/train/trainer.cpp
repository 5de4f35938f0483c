// The loop: load, forward, backward, update; between steps evaluation, checkpoints, reports and signals.
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "checkpoint/load.h"
#include "checkpoint/save.h"
#include "data/loader.h"
#include "data/samples.h"
#include "observe/events.h"
#include "observe/metrics.h"
#include "observe/progress.h"
#include "observe/run_directory.h"
#include "observe/summary.h"
#include "observe/tensorboard.h"
#include "spec/config.h"
#include "spec/validate.h"
#include "train/evaluate.h"
#include "train/executor.h"
#include "train/generate.h"
#include "train/memory_plan.h"
#include "train/peak.h"
#include "train/restore.h"
#include "train/session.h"
#include "train/sources.h"
#include "train/tensor_norms.h"

namespace longhaul::train {

namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

class Trainer {
public:
    Trainer(const spec::Run& run, const TrainerOptions& options)
        : run_(with_sequence(run)),
          options_(options),
          device_(kernels::Device::cpu(&ledger_)),
          source_(open_training_data(run_)),
          validation_(open_validation_data(run_)),
          tokenizer_(run_.data.tokenizer.empty() ? nullptr : data::load_tokenizer(run_.data.tokenizer)),
          directory_(observe::RunDirectory::create(options.run_dir)),
          parameters_(run_.model, run_.train.precision, model::Gradients::yes, &ledger_),
          stage_(device_, run_.model, parameters_, stage_options(run_), &ledger_),
          optimizer_(run_.optimizer, device_, parameters_, &ledger_),
          events_(directory_.events()) {
        require(tokenizer_ == nullptr || tokenizer_->vocab_size() <= run_.model.vocab, ErrorCode::bad_config,
                "the tokenizer {} has {} tokens, model.vocab = {} holds fewer", run_.data.tokenizer,
                tokenizer_ ? tokenizer_->vocab_size() : 0, run_.model.vocab);
    }

    Summary train() {
        const std::string log_file = directory_.log(0);
        log_to_file(log_file.c_str());
        restore();
        write_file_atomic(directory_.config(), spec::to_toml(run_));
        if (state_.step >= run_.train.steps) {
            log_warning(
                fmt::format("{} steps were made already and train.steps = {}: nothing is left to train; "
                            "raise train.steps to go on",
                            state_.step, run_.train.steps));
        }
        prepare();
        loop();
        return finish();
    }

private:
    [[nodiscard]] int signal() const { return options_.signal == nullptr ? 0 : options_.signal->load(); }

    void restore() {
        const Fingerprints fingerprints{source_->fingerprint(), tokenizer_ ? tokenizer_->fingerprint() : 0};
        const Restored restored =
            restore_run(run_, options_.resume, directory_, parameters_, optimizer_, fingerprints);
        state_ = restored.state;
        parameters_.refresh_copies(device_);
        summary_.first_step = state_.step;
        if (restored.resumed) {
            metrics_ = std::make_unique<observe::MetricsLog>(directory_.metrics(), state_.step);
            events_.event("resume", {{"step", state_.step}, {"checkpoint", restored.from}});
        } else {
            metrics_ = std::make_unique<observe::MetricsLog>(directory_.metrics(), 0);
            events_.event("start", {{"step", 0}, {"init_from", run_.train.init_from}});
        }
        summary_.checkpoint = restored.from;
    }

    void prepare() {
        const MemoryPlan plan = plan_memory(run_);
        summary_.planned_bytes = plan.total();
        std::vector<observe::MemoryRow> rows;
        for (const MemoryItem& item : plan.items) rows.push_back({item.name, item.bytes});
        peak_flops_ = peak_rate(device_, run_.train.precision, directory_.peak());
        flops_per_token_ = spec::train_flops_per_token(run_.model, spec::sequence(run_));
        log_info(fmt::format("{:.2f} M parameters, {} compute on {}, {} x {} tokens a step, run directory {}",
                             static_cast<double>(parameters_.layout().parameters) / 1e6,
                             name_of(run_.train.precision), kernels::name_of(device_.isa()),
                             run_.train.global_batch, spec::sequence(run_), directory_.root().string()));
        log_info("training data: " + source_->describe());
        log_info("memory planned before the first step:\n" + observe::memory_table(rows));
        if (run_.observe.tensorboard)
            tensorboard_ =
                std::make_unique<observe::TensorBoardWriter>(directory_.tensorboard(), state_.step);
        if (run_.observe.tensor_norms)
            norms_ = std::make_unique<TensorNormsLog>(directory_.tensor_norms(), run_.model,
                                                      parameters_.layout(), state_.step);
        progress_ = std::make_unique<observe::Progress>(observe::ProgressOptions{
            run_.train.steps, state_.step, run_.train.log_every, options_.terminal, 0, {}});
        optimizer_.zero_gradients();
    }

    void loop() {
        data::Prefetcher prefetcher(*source_, state_.samples, run_.train.global_batch,
                                    static_cast<int>(run_.data.prefetch));
        double waited = 0;
        Executor executor(run_, stage_, optimizer_, [&]() -> std::span<const std::int32_t> {
            const std::vector<std::int32_t>& samples = prefetcher.next();
            waited = prefetcher.last_wait_seconds();
            return samples;
        });
        if (validation_ && state_.step == 0) summary_.first_validation_loss = evaluate_now();
        while (state_.step < run_.train.steps && signal() == 0) {
            const Stopwatch watch;
            const std::int64_t step = state_.step + 1;
            const StepOutcome outcome = executor.run_step(step, state_.updates + 1);
            account(outcome);
            check_invariants();
            observe::StepMetrics metrics = describe(outcome, watch.seconds(), waited);
            // What follows a step belongs to its line, so that a step is one line.
            if (validation_ && (step == run_.train.steps ||
                                (run_.train.eval_every > 0 && step % run_.train.eval_every == 0))) {
                metrics.validation_loss = evaluate_now();
            }
            const Stopwatch stall;
            const bool due = run_.checkpoint.every > 0 && step % run_.checkpoint.every == 0;
            if (due || step == run_.train.steps) save();
            metrics.checkpoint_stall_ms = due || step == run_.train.steps ? stall.seconds() * 1e3 : 0;
            report(metrics, outcome);
            stop_if_hopeless(outcome);
        }
        if (signal() != 0 && state_.step != saved_step_) {
            progress_->interrupt();
            log_info(fmt::format("signal {}: saving step {} before the end", signal(), state_.step));
            events_.event("signal", {{"signal", signal()}, {"step", state_.step}});
            save();
        }
    }

    void account(const StepOutcome& outcome) {
        ++state_.step;
        state_.samples += run_.train.global_batch;
        state_.tokens += run_.train.global_batch * spec::sequence(run_);
        state_.updates += outcome.skipped ? 0 : 1;
        state_.bad_steps_total += outcome.skipped ? 1 : 0;
        state_.bad_steps_in_row = outcome.skipped ? state_.bad_steps_in_row + 1 : 0;
    }

    observe::StepMetrics describe(const StepOutcome& outcome, double seconds, double waited) {
        observe::StepMetrics m;
        m.step = state_.step;
        m.loss = outcome.loss;
        m.grad_norm = outcome.norms.global;
        m.lr = outcome.lr;
        m.tokens = state_.tokens;
        m.step_ms = seconds * 1e3;
        m.tokens_per_s = static_cast<double>(run_.train.global_batch * spec::sequence(run_)) / seconds;
        m.mfu = m.tokens_per_s * flops_per_token_ / peak_flops_;
        m.data_wait_ms = waited * 1e3;
        m.skipped = outcome.skipped;
        if (summary_.steps == 0) summary_.first_loss = outcome.loss;
        summary_.last_loss = outcome.loss;
        ++summary_.steps;
        rates_.push_back(m.tokens_per_s);
        return m;
    }

    void report(const observe::StepMetrics& metrics, const StepOutcome& outcome) {
        metrics_->append(metrics);
        if (tensorboard_) {
            tensorboard_->scalar("train/loss", metrics.step, metrics.loss);
            tensorboard_->scalar("train/grad_norm", metrics.step, metrics.grad_norm);
            tensorboard_->scalar("train/lr", metrics.step, metrics.lr);
            tensorboard_->scalar("speed/tokens_per_s", metrics.step, metrics.tokens_per_s);
            tensorboard_->scalar("speed/mfu", metrics.step, metrics.mfu);
            if (metrics.validation_loss)
                tensorboard_->scalar("validation/loss", metrics.step, *metrics.validation_loss);
        }
        if (norms_) norms_->gradients(metrics.step, outcome.norms.by_tensor);
        if (outcome.skipped) {
            progress_->interrupt();
            log_warning(fmt::format(
                "step {} skipped: loss {}, gradient norm {}; weights and optimizer are left as they were",
                metrics.step, outcome.loss, outcome.norms.global));
            events_.event("skip", {{"step", metrics.step},
                                   {"loss", fmt::format("{}", outcome.loss)},
                                   {"grad_norm", fmt::format("{}", outcome.norms.global)}});
        }
        progress_->step(metrics);
    }

    void stop_if_hopeless(const StepOutcome& outcome) {
        if (!outcome.skipped || state_.bad_steps_in_row < run_.fault.max_bad_steps) return;
        progress_->finish();
        events_.event("end", {{"step", state_.step}, {"reason", "bad steps in a row"}});
        fail(ErrorCode::training_failed,
             "{} steps in a row had a loss or gradient that is not finite (the last: step {}, loss {}, "
             "gradient norm {}). The weights are those before the first of them. "
             "Lower optimizer.lr, lengthen optimizer.warmup, set optimizer.grad_clip, or look at the data of "
             "these steps; then resume from {}",
             state_.bad_steps_in_row, state_.step, outcome.loss, outcome.norms.global,
             summary_.checkpoint.empty() ? "the start" : summary_.checkpoint);
    }

    void check_invariants() {
        if (!run_.observe.check_invariants) return;
        const std::span<const float> masters = parameters_.masters();
        const std::span<const bf16> copies = parameters_.copies();
        for (const model::GlobalTensor& tensor : parameters_.layout().tensors) {
            for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count(); ++i) {
                const float value = masters[static_cast<std::size_t>(i)];
                require(std::isfinite(value), ErrorCode::training_failed,
                        "after step {} element {} of {} is {}", state_.step, i - tensor.offset, tensor.name,
                        value);
                require(copies.empty() || copies[static_cast<std::size_t>(i)].bits == bf16(value).bits,
                        ErrorCode::internal,
                        "after step {} the bf16 copy of element {} of {} is not its rounded master",
                        state_.step, i - tensor.offset, tensor.name);
            }
        }
    }

    double evaluate_now() {
        const Evaluation result =
            evaluate(stage_, stage_options(run_).geometry, *validation_,
                     run_.train.eval_batches * run_.parallel.micro_batch, [&] { return signal() == 0; });
        progress_->interrupt();
        log_info(fmt::format("step {}: validation loss {:.4f} nats/token over {} tokens", state_.step,
                             result.loss, result.tokens));
        events_.event("evaluation",
                      {{"step", state_.step}, {"loss", result.loss}, {"tokens", result.tokens}});
        summary_.last_validation_loss = result.loss;
        return result.loss;
    }

    void save() {
        checkpoint::SaveRequest request;
        state_.data_fingerprint = source_->fingerprint();
        state_.tokenizer_fingerprint = tokenizer_ ? tokenizer_->fingerprint() : 0;
        request.state = state_;
        request.config_toml = spec::to_toml(run_);
        request.weights = checkpoint::saved_tensors(parameters_.layout(), parameters_.masters());
        request.optimizer = {
            {"m", checkpoint::saved_tensors(parameters_.layout(), optimizer_.first_moments())},
            {"v", checkpoint::saved_tensors(parameters_.layout(), optimizer_.second_moments())}};
        if (tokenizer_) request.tokenizer_files = tokenizer_->files();
        const std::filesystem::path saved = checkpoint::save(directory_.checkpoints(), request);
        saved_step_ = state_.step;
        summary_.checkpoint = saved.string();
        events_.event("checkpoint", {{"step", state_.step}, {"path", saved.string()}});
        checkpoint::keep_newest(directory_.checkpoints(), run_.checkpoint.keep, saved);
    }

    Summary finish() {
        progress_->finish();
        if (norms_) norms_->weights(state_.step, optim::weight_norms(device_, parameters_));
        summary_.interrupted_by = signal();
        summary_.last_step = state_.step;
        summary_.skipped = state_.bad_steps_total;
        summary_.tokens = state_.tokens;
        summary_.seconds = watch_.seconds();
        summary_.tokens_per_s = median(rates_);
        summary_.peak_flops = peak_flops_;
        summary_.mfu = summary_.tokens_per_s * flops_per_token_ / peak_flops_;
        summary_.used_bytes = ledger_.peak();
        summary_.resident_bytes = resident_peak_bytes();
        if (summary_.interrupted_by == 0 && run_.train.sample_tokens > 0) summary_.sample = sample();
        events_.event("end",
                      {{"step", state_.step}, {"reason", summary_.interrupted_by == 0 ? "done" : "signal"}});
        return summary_;
    }

    std::string sample() {
        std::vector<std::int32_t> prompt = tokenizer_->encode(run_.train.sample_prompt);
        if (prompt.empty()) prompt.push_back(tokenizer_->end_of_document().value_or(0));
        model::Decoder decoder(device_, run_.model, parameters_, run_.model.seq, &ledger_);
        GenerateOptions options;
        options.max_tokens = run_.train.sample_tokens;
        options.sampling = {0.8, 40, 1.0, static_cast<std::uint64_t>(run_.train.seed)};
        return run_.train.sample_prompt + tokenizer_->decode(generate(decoder, prompt, options, {}));
    }

    const spec::Run run_;
    const TrainerOptions& options_;
    Stopwatch watch_;
    MemoryLedger ledger_;
    kernels::Device device_;
    std::unique_ptr<data::SampleSource> source_, validation_;
    std::unique_ptr<data::Tokenizer> tokenizer_;
    observe::RunDirectory
        directory_;  // after what may be refused, so that a refused run leaves nothing behind
    model::Parameters parameters_;
    model::Stage stage_;
    optim::Optimizer optimizer_;
    observe::EventLog events_;
    std::unique_ptr<observe::MetricsLog> metrics_;
    std::unique_ptr<observe::TensorBoardWriter> tensorboard_;
    std::unique_ptr<observe::Progress> progress_;
    std::unique_ptr<TensorNormsLog> norms_;
    checkpoint::TrainingState state_;
    std::int64_t saved_step_ = -1;
    double peak_flops_ = 0, flops_per_token_ = 0;
    std::vector<double> rates_;
    Summary summary_;
};

}  // namespace

Summary train(const spec::Run& run, const TrainerOptions& options) {
    Trainer trainer(run, options);
    return trainer.train();
}

}  // namespace longhaul::train
