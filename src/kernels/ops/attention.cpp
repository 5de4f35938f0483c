// Attention: checks and choice of the implementation.
#include "base/checked.h"
#include "base/parallel_for.h"
#include "kernels/cpu/attention_task.h"
#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"
#include "kernels/state.h"

namespace longhaul::kernels {

namespace {

void check_shape(const char* op, const AttentionShape& s) {
    require(s.batch >= 0 && s.queries >= 0 && s.keys >= s.queries && s.head_dim > 0 && s.kv_heads > 0 &&
                s.heads > 0 && s.heads % s.kv_heads == 0 && s.window >= 0,
            ErrorCode::internal,
            "{}: batch {}, queries {}, keys {}, heads {}, kv_heads {}, head_dim {}, window {}", op, s.batch,
            s.queries, s.keys, s.heads, s.kv_heads, s.head_dim, s.window);
}

template <typename Void>
void check_queries(const char* op, const char* name, const AttentionShape& s, const BasicView<Void>& view,
                   DType dtype) {
    check_matrix(op, name, view, dtype, s.batch * s.queries, s.heads * s.head_dim);
}

template <typename Void>
void check_keys(const char* op, const char* name, const AttentionShape& s, const BasicView<Void>& view,
                DType dtype) {
    check_matrix(op, name, view, dtype, s.batch * s.keys, s.kv_heads * s.head_dim);
}

}  // namespace

void attention_forward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                       ConstTensorView k, ConstTensorView v, const Dropout& mask, TensorView o,
                       TensorView lse) {
    constexpr const char* op = "attention_forward";
    check_shape(op, shape);
    check_compute_type(op, "q", q.dtype);
    check_queries(op, "q", shape, q, q.dtype);
    check_keys(op, "k", shape, k, q.dtype);
    check_keys(op, "v", shape, v, q.dtype);
    check_queries(op, "o", shape, o, q.dtype);
    check_vector(op, "lse", lse, DType::f32, shape.batch * shape.heads * shape.queries);
    check_dropout(op, mask);
    require(!mask.on() || shape.queries == shape.keys, ErrorCode::internal,
            "{}: dropout with {} queries and {} keys", op, shape.queries, shape.keys);
    const OpTimer timer(device, op, q.dtype, [&] { return attention_cost(shape, q.dtype, false); });
    dispatch<cpu::attention_forward, reference::attention_forward>(device, shape, q, k, v, mask, o, lse);
}

std::size_t planned_scratch(const AttentionShape& shape) {
    cpu::AttentionTask task{};
    task.keys = shape.keys;
    task.head_dim = shape.head_dim;
    const std::size_t block =
        std::max(static_cast<std::size_t>(cpu::backward_scratch(task)) * sizeof(float), kLeastScratch);
    return static_cast<std::size_t>(threads()) * round_up<std::size_t>(block, 4096);
}

void attention_backward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                        ConstTensorView k, ConstTensorView v, ConstTensorView o, ConstTensorView lse,
                        ConstTensorView d_o, const Dropout& mask, TensorView dq, TensorView dk,
                        TensorView dv) {
    constexpr const char* op = "attention_backward";
    check_shape(op, shape);
    require(shape.queries == shape.keys, ErrorCode::internal,
            "{}: {} queries and {} keys; it needs as many of both", op, shape.queries, shape.keys);
    check_compute_type(op, "q", q.dtype);
    check_queries(op, "q", shape, q, q.dtype);
    check_keys(op, "k", shape, k, q.dtype);
    check_keys(op, "v", shape, v, q.dtype);
    check_queries(op, "o", shape, o, q.dtype);
    check_queries(op, "d_o", shape, d_o, q.dtype);
    check_vector(op, "lse", lse, DType::f32, shape.batch * shape.heads * shape.queries);
    check_dropout(op, mask);
    check_queries(op, "dq", shape, dq, q.dtype);
    check_keys(op, "dk", shape, dk, q.dtype);
    check_keys(op, "dv", shape, dv, q.dtype);
    const OpTimer timer(device, op, q.dtype, [&] { return attention_cost(shape, q.dtype, true); });
    dispatch<cpu::attention_backward, reference::attention_backward>(device, shape, q, k, v, o, lse, d_o,
                                                                     mask, dq, dk, dv);
}

}  // namespace longhaul::kernels
