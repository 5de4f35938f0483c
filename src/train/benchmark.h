// What `longhaul bench` measures: whole training steps, matrix products and memory, each against its ceiling.
#pragma once

#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/profile.h"
#include "spec/run.h"
#include "tensor/dtype.h"

namespace longhaul::train {

struct StepBenchmark {
    DType precision = DType::f32;
    std::int64_t steps = 0;
    double step_ms = 0;  // median over steps, all of the step: data, forward, backward, clipping, update
    double step_ms_least = 0, step_ms_most = 0, step_ms_mean = 0;
    double data_ms = 0, forward_ms = 0, backward_ms = 0, optimizer_ms = 0;  // medians of the phases
    double tokens_per_s = 0;
    double flops_per_token = 0;
    double peak_flops = 0;  // best matrix-multiply rate in this precision with the same threads
    double mfu = 0;
    std::size_t planned_bytes = 0, used_bytes = 0;
    std::vector<kernels::OpRecord> ops;  // sums over the counted steps; empty unless asked for
};
// Random tokens, `warmup` uncounted steps, then `steps` counted ones. run.train.precision is what is
// measured. With `by_op` every op is timed, too.
StepBenchmark benchmark_step(const spec::Run& run, std::int64_t warmup, std::int64_t steps,
                             bool by_op = false);

struct GemmRate {
    DType precision = DType::f32;
    std::string form;  // "forward", "input grad", "weight grad"
    std::int64_t m = 0, n = 0, k = 0;
    double flops = 0;  // a second, the best of the repetitions
};
// Products of a linear layer of k inputs and n outputs on m tokens, in all three directions.
std::vector<GemmRate> benchmark_gemm(const kernels::Device& device, DType precision, std::int64_t m,
                                     std::int64_t n, std::int64_t k, double seconds);

struct MemoryRate {
    std::string form;  // "read", "copy", "update"
    double bytes_per_s = 0;
};
// Streams over `bytes` (far more than the caches): sum of an array, copy, and a read-modify-write of four
// arrays as the optimizer does it.
std::vector<MemoryRate> benchmark_memory(std::size_t bytes, double seconds);

}  // namespace longhaul::train
