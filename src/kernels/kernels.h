// All math on tensors: checked free functions, one file a device behind each, plain loops as the oracle of
// its tests.
//
// Conventions. T = tokens (batch x sequence, sample-major), H = hidden. Activations and weight matrices are
// of the compute type (fp32 or bf16, the same in one call unless said otherwise); vectors (biases, norm
// weights), statistics, losses, gradients of parameters, masters and optimizer state are fp32. Sums are kept
// in fp32 or wider. Views may have a row stride larger than their columns. Functions throw Error internal
// where shapes or types don't fit. Gradients of parameters are added to (+=); every other output is
// overwritten unless `Accumulate::yes` is passed. Reductions have a fixed order: a result does not depend on
// the number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/device.h"
#include "tensor/view.h"

namespace longhaul::kernels {

enum class Accumulate : bool { no, yes };

// --- Linear layers: weight [out, in]. The backward is split so that communication can hide behind its second
// half.

// y[T, out] = x[T, in] weight^T + bias[out]. y may be fp32 where x is bf16 (logits). bias is optional (empty
// view).
void linear_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                    TensorView y);
// dx[T, in] (+)= dy[T, out] weight
void linear_input_grad(const Device& device, ConstTensorView dy, ConstTensorView weight, TensorView dx,
                       Accumulate accumulate = Accumulate::no);
// dweight[out, in] += dy^T x;  dbias[out] += column sums of dy (optional). dweight, dbias: fp32.
void linear_weight_grad(const Device& device, ConstTensorView dy, ConstTensorView x, TensorView dweight,
                        TensorView dbias);

// --- Norms over the last axis

// y = (x - mean) * rstd * weight + bias, variance biased (1/H). bias is optional. mean, rstd: fp32 [T].
void layernorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                       float eps, TensorView y, TensorView mean, TensorView rstd);
// dx (+)= gradient; dweight += , dbias += (optional).
void layernorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                        ConstTensorView mean, ConstTensorView rstd, TensorView dx, TensorView dweight,
                        TensorView dbias, Accumulate accumulate = Accumulate::no);
// y = x * rstd * weight, rstd = 1 / sqrt(mean(x^2) + eps).
void rmsnorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, float eps, TensorView y,
                     TensorView rstd);
void rmsnorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                      ConstTensorView rstd, TensorView dx, TensorView dweight,
                      Accumulate accumulate = Accumulate::no);

// --- Activations

// y = gelu(x + bias), tanh form: 0.5 z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))). bias [F] is optional.
void bias_gelu_forward(const Device& device, ConstTensorView x, ConstTensorView bias, TensorView y);
// dx = dy * gelu'(x + bias); dbias += column sums of dx (optional). dx may be dy.
void bias_gelu_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView bias,
                        TensorView dx, TensorView dbias);
// y[T, F] = silu(g) * u where gate_up[T, 2F] holds g in its first F columns and u in the others.
void swiglu_forward(const Device& device, ConstTensorView gate_up, TensorView y);
// d_gate_up[T, 2F]; may be gate_up itself.
void swiglu_backward(const Device& device, ConstTensorView dy, ConstTensorView gate_up, TensorView d_gate_up);

// --- Rotary position embedding, rotate-half form (Su et al. 2021, as in Llama)

// table: fp32 [positions, rotary_dim], cos in the first half of the columns, sin in the second; angle(p, i) =
// p * theta^(-2 i / rotary_dim), computed in double.
void rope_table(double theta, TensorView table);
// In place on x[T, heads * head_dim]: of each head the first rotary_dim columns are rotated, the rest is
// left. Row r stands at position first_position + r % sequence. `inverse` rotates back (the backward of the
// rotation).
void rope(const Device& device, ConstTensorView table, std::int64_t head_dim, std::int64_t sequence,
          std::int64_t first_position, bool inverse, TensorView x);

// --- Dropout: masks are a function of (key, step, sample, position, column), so they need no memory

struct Dropout {
    float probability = 0.0F;  // 0: off
    std::uint64_t key = 0;     // stream_key(seed, "dropout", site)
    std::uint64_t step = 0;
    std::int64_t first_sample =
        0;  // number, within the global batch, of the first sample of this micro-batch
    [[nodiscard]] bool on() const { return probability > 0.0F; }
};

// y = x * mask / (1 - p). Row r is token r % sequence of sample first_sample + r / sequence; element (sample,
// token, column) has number n = (sample * sequence + token) * columns + column and is kept where
// uniform_from(philox(key, n / 4, step)[n % 4]) >= p. Its own backward. y may be x.
void dropout(const Device& device, ConstTensorView x, const Dropout& mask, std::int64_t sequence,
             TensorView y);

// --- Attention: causal, optionally windowed; memory linear in the sequence (Dao 2023: online softmax,
// recompute)

struct AttentionShape {
    std::int64_t batch = 0;
    std::int64_t queries = 0;  // per sequence
    std::int64_t keys = 0;     // per sequence, >= queries; query i stands at position keys - queries + i
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;  // divides heads; head h reads kv head h / (heads / kv_heads)
    std::int64_t head_dim = 0;
    std::int64_t window = 0;  // 0: all earlier keys; else keys j with position - window < j <= position
};

// q[batch * queries, heads * head_dim], k and v[batch * keys, kv_heads * head_dim], o like q; lse: fp32
// [batch, heads, queries], log of the sum of exponentials of the scaled scores. Scores are scaled by 1 /
// sqrt(head_dim). Dropout on the probabilities: element number ((sample * heads + head) * queries + i) * keys
// + j, as in dropout(); allowed only where queries == keys.
void attention_forward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                       ConstTensorView k, ConstTensorView v, const Dropout& mask, TensorView o,
                       TensorView lse);
// dq, dk, dv like q, k, v, overwritten; they must not alias the inputs. queries == keys.
void attention_backward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                        ConstTensorView k, ConstTensorView v, ConstTensorView o, ConstTensorView lse,
                        ConstTensorView d_o, const Dropout& mask, TensorView dq, TensorView dk,
                        TensorView dv);

// Bytes of scratch that a device keeps between steps of training with such an attention, the other ops' share
// included.
[[nodiscard]] std::size_t planned_scratch(const AttentionShape& shape);

// --- Ends of the model

// y[T, H] = table[ids[t]] (+ positions[first_position + t % sequence]); ids int32 [T]; a negative id
// (padding) reads row 0. positions is optional. An Error bad_data names an id that the table doesn't have.
void embedding_forward(const Device& device, ConstTensorView ids, ConstTensorView table,
                       ConstTensorView positions, std::int64_t sequence, std::int64_t first_position,
                       TensorView y);
// dtable[ids[t]] += dy[t]; dpositions[t % sequence] += dy[t] (optional). fp32 gradients, summed in token
// order. A negative id adds nothing.
void embedding_backward(const Device& device, ConstTensorView ids, ConstTensorView dy, std::int64_t sequence,
                        TensorView dtable, TensorView dpositions);

// losses[t] = logsumexp(logits[t]) - logits[t, targets[t]]; 0 where the target is negative (ignored).
// dlogits (optional; compute type; may be logits where both are fp32) = (softmax - onehot) * scale, 0 for
// ignored tokens. logits fp32 [T, V], targets int32 [T], losses fp32 [T].
void cross_entropy(const Device& device, ConstTensorView logits, ConstTensorView targets, float scale,
                   TensorView losses, TensorView dlogits);

// --- Element-wise and reductions

// out = a + b; out may be a or b.
void add(const Device& device, ConstTensorView a, ConstTensorView b, TensorView out);
// to = from, fp32 <-> bf16 (or a copy).
void convert(const Device& device, ConstTensorView from, TensorView to);
void fill_zero(const Device& device, TensorView x);
// Sum of squares of fp32 values in double, in a fixed order. Not finite where an element is not.
[[nodiscard]] double sum_squares(const Device& device, std::span<const float> x);

// --- Optimizer updates, flat fp32 ranges of one tensor, one pass

// In double: 1 - beta2 taken in fp32 would be off by 1e-5 of itself.
struct AdamStep {
    double lr = 0;
    double beta1 = 0;
    double beta2 = 0;
    double eps = 0;
    double decay = 0;        // 0 for tensors with fewer than two dimensions
    double correction1 = 1;  // 1 - beta1^t
    double correction2 = 1;  // 1 - beta2^t
    double grad_scale = 1;   // gradients are multiplied by this first (clipping)
};

// Loshchilov and Hutter 2019: m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr (m^ / (sqrt(v^) + eps) +
// decay w). copy: the compute-type copy of w, written in the same pass; empty where compute is fp32.
void adamw_update(const Device& device, const AdamStep& step, std::span<float> weight,
                  std::span<const float> grad, std::span<float> m, std::span<float> v, std::span<bf16> copy);

struct LambNorms {
    double weight_squares = 0;
    double update_squares = 0;
};

// You et al. 2020, first pass: moments as AdamW; grad is overwritten by the direction u = m^ / (sqrt(v^) +
// eps) + decay w. Returns |w|^2 and |u|^2, in double and in a fixed order.
LambNorms lamb_direction(const Device& device, const AdamStep& step, std::span<const float> weight,
                         std::span<float> grad, std::span<float> m, std::span<float> v);
// Second pass: w -= rate * u; copy as above. rate = lr * trust ratio.
void lamb_apply(const Device& device, float rate, std::span<float> weight, std::span<const float> u,
                std::span<bf16> copy);

}  // namespace longhaul::kernels
