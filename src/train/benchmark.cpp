// Steps on random tokens, products, streams.
#include "train/benchmark.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "base/parallel_for.h"
#include "base/random.h"
#include "base/time.h"
#include "kernels/kernels.h"
#include "kernels/peak.h"
#include "model/stage.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "spec/validate.h"
#include "train/executor.h"
#include "train/memory_plan.h"

namespace longhaul::train {

namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Least seconds of one call, repeated for about `seconds`.
template <typename Call>
double least_seconds(double seconds, const Call& call) {
    call();
    double least = 1e30;
    const Stopwatch total;
    do {
        const Stopwatch once;
        call();
        least = std::min(least, once.seconds());
    } while (total.seconds() < seconds);
    return least;
}

void fill_random(const Buffer& buffer, DType dtype, std::int64_t count, std::uint64_t key) {
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = uniform_from(philox(key, static_cast<std::uint64_t>(i), 0)[0]) - 0.5F;
        if (dtype == DType::bf16) {
            reinterpret_cast<bf16*>(buffer.data())[i] = bf16(value);
        } else {
            reinterpret_cast<float*>(buffer.data())[i] = value;
        }
    }
}

}  // namespace

StepBenchmark benchmark_step(const spec::Run& run, std::int64_t warmup, std::int64_t steps, bool by_op) {
    MemoryLedger ledger;
    const kernels::Device device = kernels::Device::cpu(&ledger);
    StepBenchmark result;
    result.precision = run.train.precision;
    result.peak_flops = kernels::best_matmul_rate(device, run.train.precision, 0.5);
    result.planned_bytes = plan_memory(run).total();

    model::Parameters parameters(run.model, run.train.precision, model::Gradients::yes, &ledger);
    parameters.initialise(static_cast<std::uint64_t>(run.train.seed));
    parameters.refresh_copies(device);
    model::Stage stage(device, run.model, parameters, stage_options(run), &ledger);
    optim::Optimizer optimizer(run.optimizer, device, parameters, &ledger);

    std::vector<std::int32_t> samples(
        static_cast<std::size_t>(run.train.global_batch * (spec::sequence(run) + 1)));
    std::int64_t draws = 0;
    Executor executor(run, stage, optimizer, [&]() -> std::span<const std::int32_t> {
        for (std::int32_t& token : samples) {
            const std::uint32_t word = philox(7, static_cast<std::uint64_t>(draws++), 0)[0];
            token = static_cast<std::int32_t>(word % static_cast<std::uint32_t>(run.model.vocab));
        }
        return samples;
    });

    std::vector<double> totals, data, forward, backward, update;
    kernels::Profile profile;
    for (std::int64_t i = 0; i < warmup + steps; ++i) {
        if (i == warmup && by_op) device.set_profile(&profile);
        const StepOutcome outcome = executor.run_step(i + 1, i + 1);
        if (i < warmup) continue;
        totals.push_back(outcome.times.total() * 1e3);
        data.push_back(outcome.times.load * 1e3);
        forward.push_back(outcome.times.forward * 1e3);
        backward.push_back(outcome.times.backward * 1e3);
        update.push_back(outcome.times.optimizer * 1e3);
    }
    result.steps = steps;
    result.step_ms = median(totals);
    result.step_ms_least = *std::min_element(totals.begin(), totals.end());
    result.step_ms_mean =
        std::accumulate(totals.begin(), totals.end(), 0.0) / static_cast<double>(totals.size());
    result.step_ms_most = *std::max_element(totals.begin(), totals.end());
    result.data_ms = median(data);
    result.forward_ms = median(forward);
    result.backward_ms = median(backward);
    result.optimizer_ms = median(update);
    result.tokens_per_s =
        static_cast<double>(run.train.global_batch * spec::sequence(run)) / (result.step_ms / 1e3);
    result.flops_per_token = spec::train_flops_per_token(run.model, spec::sequence(run));
    result.used_bytes = ledger.peak();
    device.set_profile(nullptr);
    // Taken again: whatever else ran beside the first measurement would make the MFU look better than it is.
    result.peak_flops =
        std::max(result.peak_flops, kernels::best_matmul_rate(device, run.train.precision, 0.5));
    result.mfu = result.tokens_per_s * result.flops_per_token / result.peak_flops;
    result.ops = profile.records();
    return result;
}

std::vector<GemmRate> benchmark_gemm(const kernels::Device& device, DType precision, std::int64_t m,
                                     std::int64_t n, std::int64_t k, double seconds) {
    const auto buffer = [&](std::int64_t count, DType dtype, std::uint64_t key) {
        Buffer made(static_cast<std::size_t>(count) * size_of(dtype), "bench", nullptr);
        fill_random(made, dtype, count, key);
        return made;
    };
    const Buffer x = buffer(m * k, precision, 1);
    const Buffer w = buffer(n * k, precision, 2);
    const Buffer y = buffer(m * n, precision, 3);
    const Buffer dx = buffer(m * k, precision, 4);
    const Buffer dw = buffer(n * k, DType::f32, 5);
    const TensorView xv = x.view(precision, {m, k});
    const TensorView wv = w.view(precision, {n, k});
    const TensorView yv = y.view(precision, {m, n});
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    std::vector<GemmRate> rates;
    const auto measure = [&](const char* form, const auto& call) {
        rates.push_back({precision, form, m, n, k, flops / least_seconds(seconds, call)});
    };
    measure("forward", [&] { kernels::linear_forward(device, xv, wv, {}, yv); });
    measure("input grad", [&] { kernels::linear_input_grad(device, yv, wv, dx.view(precision, {m, k})); });
    measure("weight grad", [&] {
        kernels::linear_weight_grad(device, yv, xv, dw.view(DType::f32, {n, k}), {});
    });
    return rates;
}

std::vector<MemoryRate> benchmark_memory(std::size_t bytes, double seconds) {
    constexpr std::int64_t kPiece = 1 << 18;  // floats
    const std::int64_t pieces =
        std::max<std::int64_t>(1, narrow<std::int64_t>(bytes / sizeof(float)) / kPiece / 4 * 4);
    const Buffer memory(static_cast<std::size_t>(pieces * kPiece) * sizeof(float), "bench", nullptr);
    auto* data = reinterpret_cast<float*>(memory.data());
    parallel_for(pieces, [&](std::int64_t p) { std::fill_n(data + p * kPiece, kPiece, 1.0F); });
    const double moved = static_cast<double>(pieces * kPiece) * sizeof(float);

    std::vector<float> sums(static_cast<std::size_t>(pieces));
    std::vector<MemoryRate> rates;
    rates.push_back({"read", moved / least_seconds(seconds, [&] {
                                 parallel_for(pieces, [&](std::int64_t p) {
                                     float lanes[16] = {};
                                     const float* piece = data + p * kPiece;
                                     for (std::int64_t i = 0; i < kPiece; i += 16) {
                                         for (int l = 0; l < 16; ++l) lanes[l] += piece[i + l];
                                     }
                                     sums[static_cast<std::size_t>(p)] =
                                         std::accumulate(lanes, lanes + 16, 0.0F);
                                 });
                             })});
    const std::int64_t half = pieces / 2;
    rates.push_back({"copy", moved / least_seconds(seconds, [&] {
                                 parallel_for(half, [&](std::int64_t p) {
                                     std::memcpy(data + (half + p) * kPiece, data + p * kPiece,
                                                 kPiece * sizeof(float));
                                 });
                             })});
    const std::int64_t quarter = pieces / 4;
    // Reads four arrays and writes three of them, as AdamW does with weight, gradient and both moments.
    rates.push_back({"update", moved * 7 / 4 / least_seconds(seconds, [&] {
                                   parallel_for(quarter, [&](std::int64_t p) {
                                       float* a = data + p * kPiece;
                                       float* b = a + quarter * kPiece;
                                       float* c = b + quarter * kPiece;
                                       const float* d = c + quarter * kPiece;
                                       for (std::int64_t i = 0; i < kPiece; ++i) {
                                           b[i] = 0.9F * b[i] + 0.1F * d[i];
                                           c[i] = 0.9F * c[i] + 0.1F * d[i];
                                           a[i] -= 0.001F * (b[i] + c[i]);
                                       }
                                   });
                               })});
    return rates;
}

}  // namespace longhaul::train
