// Chunks of tokens through the output product and back.
#include "model/head.h"

#include <algorithm>

#include "base/checked.h"

namespace longhaul::model {

namespace {

// A chunk's fp32 logits take at most about this many bytes: enough rows for an efficient product, far from
// all of them.
constexpr std::int64_t kChunkBytes = 128 << 20;
constexpr std::int64_t kLeastRows = 16;

}  // namespace

void Head::lay_out(Arena& arena, const spec::Model& m, const Geometry& geometry, DType compute) {
    const std::int64_t most = std::max(kChunkBytes / (4 * m.vocab) / kLeastRows * kLeastRows, kLeastRows);
    // Equal chunks: a short last one would run far from the peak.
    chunk_ = std::min(geometry.tokens(), equal_piece(geometry.tokens(), most, kLeastRows));
    const Shape hidden{geometry.tokens(), m.hidden};
    normed_ = arena.take("head normed", compute, hidden);
    d_normed_ = arena.take("d head normed", compute, hidden);
    statistics_.mean = arena.take("head norm mean", DType::f32, {geometry.tokens()});
    statistics_.rstd = arena.take("head norm rstd", DType::f32, {geometry.tokens()});
    losses_ = arena.take("losses", DType::f32, {geometry.tokens()});
    logits_ = arena.take("logits", DType::f32, {chunk_, m.vocab});
    d_logits_ = compute == DType::f32 ? logits_ : arena.take("d logits", compute, {chunk_, m.vocab});
}

double Head::sum_losses(std::int64_t tokens) const {
    const float* losses = losses_.as<float>();
    double sum = 0;
    for (std::int64_t t = 0; t < tokens; ++t) sum += static_cast<double>(losses[t]);
    return sum;
}

// per_chunk(first, rows, normed, logits) after the logits of a chunk are there.
template <typename PerChunk>
double Head::each_chunk(const Environment& env, ConstTensorView x, const PerChunk& per_chunk) const {
    const std::int64_t tokens = x.rows();
    norm_forward(env, norm_, x, normed_, statistics_);
    const ConstTensorView weight = env.parameters.matrix(weight_);
    const ConstTensorView bias = env.parameters.vector(bias_);
    for (std::int64_t first = 0; first < tokens; first += chunk_) {
        const std::int64_t rows = std::min(chunk_, tokens - first);
        const ConstTensorView normed = normed_.row_range(first, rows);
        const TensorView logits = logits_.row_range(0, rows);
        kernels::linear_forward(env.device, normed, weight, bias, logits);
        per_chunk(first, rows, normed, logits);
    }
    return sum_losses(tokens);
}

double Head::forward(const Environment& env, ConstTensorView x, ConstTensorView targets) const {
    return each_chunk(env, x,
                      [&](std::int64_t first, std::int64_t rows, const ConstTensorView& /*normed*/,
                          const TensorView& logits) {
                          const ConstTensorView chunk_targets(targets.as<std::int32_t>() + first, DType::i32,
                                                              {rows});
                          const TensorView losses(losses_.as<float>() + first, DType::f32, {rows});
                          kernels::cross_entropy(env.device, logits, chunk_targets, 0.0F, losses, {});
                      });
}

double Head::forward_backward(const Environment& env, ConstTensorView x, ConstTensorView targets, float scale,
                              TensorView gradient) const {
    const Parameters& p = env.parameters;
    const double sum = each_chunk(
        env, x,
        [&](std::int64_t first, std::int64_t rows, const ConstTensorView& normed, const TensorView& logits) {
            const ConstTensorView chunk_targets(targets.as<std::int32_t>() + first, DType::i32, {rows});
            const TensorView losses(losses_.as<float>() + first, DType::f32, {rows});
            const TensorView d_logits = d_logits_.row_range(0, rows);
            kernels::cross_entropy(env.device, logits, chunk_targets, scale, losses, d_logits);
            kernels::linear_input_grad(env.device, d_logits, p.matrix(weight_),
                                       d_normed_.row_range(first, rows));
            kernels::linear_weight_grad(env.device, d_logits, normed, p.gradient(weight_), p.gradient(bias_));
        });
    norm_backward(env, norm_, d_normed_, x, statistics_, gradient, kernels::Accumulate::no);
    return sum;
}

void Head::logits(const Environment& env, ConstTensorView x, TensorView logits) const {
    const std::int64_t rows = x.rows();
    const TensorView normed = normed_.row_range(0, rows);
    const NormStatistics statistics{TensorView(statistics_.mean.data, DType::f32, {rows}),
                                    TensorView(statistics_.rstd.data, DType::f32, {rows})};
    norm_forward(env, norm_, x, normed, statistics);
    kernels::linear_forward(env.device, normed, env.parameters.matrix(weight_), env.parameters.vector(bias_),
                            logits);
}

}  // namespace longhaul::model
