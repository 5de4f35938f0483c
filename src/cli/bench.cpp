// longhaul bench gemm|memory|step: achieved rates beside the ceilings that they are compared with.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel_for.h"
#include "cli/app.h"
#include "cli/output.h"
#include "kernels/peak.h"
#include "observe/summary.h"
#include "spec/config.h"
#include "spec/validate.h"
#include "train/benchmark.h"
#include "train/breakdown.h"

namespace longhaul::cli {

namespace {

using nlohmann::ordered_json;

struct BenchOptions {
    bool json = false;
    int threads = 0;
    double seconds = 0.3;
    std::string precision = "both";
    // gemm
    std::int64_t m = 1024, n = 3072, k = 768;
    // memory
    std::int64_t mebibytes = 1024;
    // step
    std::string preset = "gpt2-124m";
    std::string config;
    std::vector<std::string> sets;
    std::int64_t batch = 4, micro_batch = 0, seq = 0, steps = 3, warmup = 1;
    std::string recompute;
    bool breakdown = false;
};

std::vector<DType> precisions(const BenchOptions& o) {
    if (o.precision == "fp32") return {DType::f32};
    if (o.precision == "bf16") return {DType::bf16};
    return {DType::f32, DType::bf16};
}

void apply_threads(const BenchOptions& o) {
    if (o.threads > 0) set_threads(o.threads);
}

void add_common(CLI::App& app, BenchOptions& o) {
    app.add_flag("--json", o.json, "Print one JSON document on standard output");
    app.add_option("--threads", o.threads, "Compute threads; default: all processors of this process")
        ->check(CLI::Range(1, 4096));
}

void add_precision(CLI::App& app, BenchOptions& o) {
    app.add_option("--precision", o.precision, "fp32, bf16 or both")
        ->check(CLI::IsMember({"fp32", "bf16", "both"}));
}

void run_gemm(const BenchOptions& o) {
    apply_threads(o);
    const kernels::Device device = kernels::Device::cpu();
    ordered_json document{
        {"threads", threads()}, {"isa", kernels::name_of(device.isa())}, {"results", ordered_json::array()}};
    if (!o.json) fmt::print("{} threads, {}\n", threads(), kernels::name_of(device.isa()));
    for (const DType precision : precisions(o)) {
        const double peak = kernels::best_matmul_rate(device, precision, o.seconds);
        const auto rates = train::benchmark_gemm(device, precision, o.m, o.n, o.k, o.seconds);
        ordered_json entry{
            {"precision", name_of(precision)}, {"peak_flops", peak}, {"products", ordered_json::array()}};
        if (!o.json) fmt::print("{}: peak {} (best product found)\n", name_of(precision), human_flops(peak));
        for (const train::GemmRate& rate : rates) {
            entry["products"].push_back({{"form", rate.form},
                                         {"m", rate.m},
                                         {"n", rate.n},
                                         {"k", rate.k},
                                         {"flops", rate.flops},
                                         {"share_of_peak", rate.flops / peak}});
            if (!o.json) {
                fmt::print("  {:<12} m {} n {} k {}: {:>16}  {:5.1f}% of peak\n", rate.form, rate.m, rate.n,
                           rate.k, human_flops(rate.flops), 100 * rate.flops / peak);
            }
        }
        document["results"].push_back(std::move(entry));
    }
    if (o.json) fmt::print("{}\n", document.dump(2));
}

void run_memory(const BenchOptions& o) {
    apply_threads(o);
    const auto rates = train::benchmark_memory(static_cast<std::size_t>(o.mebibytes) << 20U, o.seconds);
    ordered_json document{
        {"threads", threads()}, {"mebibytes", o.mebibytes}, {"results", ordered_json::array()}};
    if (!o.json) fmt::print("{} threads, {} MiB\n", threads(), o.mebibytes);
    double peak = 0;
    for (const train::MemoryRate& rate : rates) peak = std::max(peak, rate.bytes_per_s);
    for (const train::MemoryRate& rate : rates) {
        document["results"].push_back({{"form", rate.form},
                                       {"bytes_per_s", rate.bytes_per_s},
                                       {"share_of_peak", rate.bytes_per_s / peak}});
        if (!o.json)
            fmt::print("  {:<8} {:6.1f} GB/s  {:5.1f}% of the best\n", rate.form, rate.bytes_per_s / 1e9,
                       100 * rate.bytes_per_s / peak);
    }
    document["peak_bytes_per_s"] = peak;
    if (o.json) fmt::print("{}\n", document.dump(2));
}

double best_memory_rate() {
    double best = 0;
    for (const train::MemoryRate& rate : train::benchmark_memory(std::size_t{1} << 29U, 0.3))
        best = std::max(best, rate.bytes_per_s);
    return best;
}

ordered_json to_json(const train::Breakdown& b) {
    ordered_json document{{"memory_bytes_per_s", b.memory_rate},
                          {"product_ms", b.product_seconds * 1e3},
                          {"other_ops_ms", b.other_seconds * 1e3},
                          {"outside_ops_ms", b.outside_seconds * 1e3},
                          {"share_not_product", 1 - b.product_seconds / b.step_seconds},
                          {"ops", ordered_json::array()}};
    for (const train::OpLine& line : b.lines) {
        document["ops"].push_back({{"op", line.op},
                                   {"extents", line.extents},
                                   {"calls", line.calls},
                                   {"ms", line.seconds * 1e3},
                                   {"flops", line.flops},
                                   {"bytes", line.bytes},
                                   {"bound", line.by_memory ? "memory" : "compute"},
                                   {"share_of_limit", line.limit_seconds / line.seconds}});
    }
    return document;
}

spec::Run step_run(const BenchOptions& o) {
    std::vector<std::string> sets;
    if (o.config.empty()) sets.push_back("model.preset=" + o.preset);
    if (o.seq > 0) sets.push_back(fmt::format("train.seq={}", o.seq));
    // A longer sequence than the model's own needs a model with more positions.
    const spec::Preset* preset = o.config.empty() ? spec::find_preset(o.preset) : nullptr;
    if (preset != nullptr && o.seq > preset->model.seq) sets.push_back(fmt::format("model.seq={}", o.seq));
    sets.push_back(fmt::format("train.global_batch={}", o.batch));
    sets.push_back(fmt::format("parallel.micro_batch={}", o.micro_batch == 0 ? o.batch : o.micro_batch));
    if (!o.recompute.empty()) sets.push_back("parallel.recompute=" + o.recompute);
    sets.insert(sets.end(), o.sets.begin(), o.sets.end());
    return o.config.empty() ? spec::parse_config("", "bench", sets) : spec::load_config(o.config, sets);
}

void run_step(const BenchOptions& o) {
    apply_threads(o);
    spec::Run run = step_run(o);
    ordered_json document{{"preset", o.config.empty() ? o.preset : o.config},
                          {"parameters", spec::parameter_count(run.model)},
                          {"global_batch", run.train.global_batch},
                          {"micro_batch", run.parallel.micro_batch},
                          {"seq", spec::sequence(run)},
                          {"threads", threads()},
                          {"results", ordered_json::array()}};
    if (!o.json) {
        fmt::print("{}: {:.1f} M parameters, {} x {} tokens a step, micro-batch {}, {} threads\n",
                   o.config.empty() ? o.preset : o.config,
                   static_cast<double>(spec::parameter_count(run.model)) / 1e6, run.train.global_batch,
                   spec::sequence(run), run.parallel.micro_batch, threads());
    }
    const double memory_rate = o.breakdown ? best_memory_rate() : 0;
    for (const DType precision : precisions(o)) {
        run.train.precision = precision;
        const train::StepBenchmark b = train::benchmark_step(run, o.warmup, o.steps, o.breakdown);
        document["results"].push_back({{"precision", name_of(precision)},
                                       {"tokens_per_s", b.tokens_per_s},
                                       {"mfu", b.mfu},
                                       {"step_ms", b.step_ms},
                                       {"step_ms_least", b.step_ms_least},
                                       {"step_ms_most", b.step_ms_most},
                                       {"steps", b.steps},
                                       {"phases_ms",
                                        {{"data", b.data_ms},
                                         {"forward", b.forward_ms},
                                         {"backward", b.backward_ms},
                                         {"optimizer", b.optimizer_ms}}},
                                       {"flops_per_token", b.flops_per_token},
                                       {"peak_flops", b.peak_flops},
                                       {"planned_bytes", b.planned_bytes},
                                       {"used_bytes", b.used_bytes}});
        std::optional<train::Breakdown> breakdown;
        if (o.breakdown) breakdown = train::break_down(b, memory_rate);
        if (breakdown) document["results"].back()["breakdown"] = to_json(*breakdown);
        if (o.json) continue;
        fmt::print("{}: {:.1f} tokens/s, MFU {:.1f}% of {}\n", name_of(precision), b.tokens_per_s,
                   100 * b.mfu, human_flops(b.peak_flops));
        fmt::print(
            "  step {:.1f} ms (median of {}, {:.1f} to {:.1f}): data {:.1f}, forward and head {:.1f}, "
            "backward {:.1f}, optimizer {:.1f}\n",
            b.step_ms, b.steps, b.step_ms_least, b.step_ms_most, b.data_ms, b.forward_ms, b.backward_ms,
            b.optimizer_ms);
        fmt::print("  memory planned {}, used {}\n", observe::human_bytes(b.planned_bytes),
                   observe::human_bytes(b.used_bytes));
        if (breakdown) fmt::print("{}", train::breakdown_text(*breakdown));
    }
    if (o.json) fmt::print("{}\n", document.dump(2));
}

}  // namespace

void add_bench(CLI::App& app, int& /*status*/) {
    auto o = std::make_shared<BenchOptions>();
    CLI::App* bench = app.add_subcommand("bench", "Measure this machine and training steps on it");
    bench->require_subcommand(1);

    CLI::App* gemm = bench->add_subcommand(
        "gemm", "Matrix products of a linear layer, in all directions, against the best rate found");
    add_common(*gemm, *o);
    add_precision(*gemm, *o);
    gemm->add_option("-m", o->m, "Tokens")->check(CLI::Range(1, 1 << 20));
    gemm->add_option("-n", o->n, "Outputs")->check(CLI::Range(1, 1 << 20));
    gemm->add_option("-k", o->k, "Inputs")->check(CLI::Range(1, 1 << 20));
    gemm->add_option("--seconds", o->seconds, "Seconds for each figure")->check(CLI::Range(0.01, 600.0));
    gemm->callback([o] { run_gemm(*o); });

    CLI::App* memory = bench->add_subcommand("memory", "Rates of reading, copying and updating main memory");
    add_common(*memory, *o);
    memory->add_option("--mebibytes", o->mebibytes, "Memory to stream over; take many times the caches")
        ->check(CLI::Range(8, 1 << 20));
    memory->add_option("--seconds", o->seconds, "Seconds for each figure")->check(CLI::Range(0.01, 600.0));
    memory->callback([o] { run_memory(*o); });

    CLI::App* step = bench->add_subcommand("step", "Whole training steps on random tokens: tokens/s and MFU");
    add_common(*step, *o);
    add_precision(*step, *o);
    auto* preset = step->add_option("--preset", o->preset, "Model preset");
    step->add_option("--config", o->config, "Configuration file instead of a preset")->excludes(preset);
    step->add_option("--set", o->sets, "section.key=value over preset or file; repeatable");
    step->add_option("--batch", o->batch, "Sequences of a step")->check(CLI::Range(1, 1 << 20));
    step->add_option("--micro-batch", o->micro_batch, "Sequences of one forward; default: all of the step")
        ->check(CLI::Range(1, 1 << 20));
    step->add_option("--seq", o->seq, "Tokens of a sequence; default: the model's")
        ->check(CLI::Range(1, 1 << 24));
    step->add_option("--recompute", o->recompute, "none, selective or full")
        ->check(CLI::IsMember({"none", "selective", "full"}));
    step->add_option("--steps", o->steps, "Counted steps")->check(CLI::Range(1, 100000));
    step->add_option("--warmup", o->warmup, "Steps before them that don't count")
        ->check(CLI::Range(0, 100000));
    step->add_flag("--breakdown", o->breakdown,
                   "Time, FLOPs, bytes and share of the limit of every op, and what is not matrix product");
    step->callback([o] { run_step(*o); });
}

}  // namespace longhaul::cli
