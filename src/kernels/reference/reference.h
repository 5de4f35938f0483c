// The plain loops behind Backend::reference: last in every list of implementations, and they take every call.
#pragma once

#include "kernels/kernels.h"

namespace longhaul::kernels::reference {

bool linear_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                    TensorView y);
bool linear_input_grad(const Device& device, ConstTensorView dy, ConstTensorView weight, TensorView dx,
                       Accumulate accumulate);
bool linear_weight_grad(const Device& device, ConstTensorView dy, ConstTensorView x, TensorView dweight,
                        TensorView dbias);

bool layernorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                       float eps, TensorView y, TensorView mean, TensorView rstd);
bool layernorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                        ConstTensorView mean, ConstTensorView rstd, TensorView dx, TensorView dweight,
                        TensorView dbias, Accumulate accumulate);
bool rmsnorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, float eps, TensorView y,
                     TensorView rstd);
bool rmsnorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                      ConstTensorView rstd, TensorView dx, TensorView dweight, Accumulate accumulate);

bool bias_gelu_forward(const Device& device, ConstTensorView x, ConstTensorView bias, TensorView y);
bool bias_gelu_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView bias,
                        TensorView dx, TensorView dbias);
bool swiglu_forward(const Device& device, ConstTensorView gate_up, TensorView y);
bool swiglu_backward(const Device& device, ConstTensorView dy, ConstTensorView gate_up, TensorView d_gate_up);

bool rope(const Device& device, ConstTensorView table, std::int64_t head_dim, std::int64_t sequence,
          std::int64_t first_position, bool inverse, TensorView x);
bool dropout(const Device& device, ConstTensorView x, const Dropout& mask, std::int64_t sequence,
             TensorView y);

bool attention_forward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                       ConstTensorView k, ConstTensorView v, const Dropout& mask, TensorView o,
                       TensorView lse);
bool attention_backward(const Device& device, const AttentionShape& shape, ConstTensorView q,
                        ConstTensorView k, ConstTensorView v, ConstTensorView o, ConstTensorView lse,
                        ConstTensorView d_o, const Dropout& mask, TensorView dq, TensorView dk,
                        TensorView dv);

bool embedding_forward(const Device& device, ConstTensorView ids, ConstTensorView table,
                       ConstTensorView positions, std::int64_t sequence, std::int64_t first_position,
                       TensorView y);
bool embedding_backward(const Device& device, ConstTensorView ids, ConstTensorView dy, std::int64_t sequence,
                        TensorView dtable, TensorView dpositions);
bool cross_entropy(const Device& device, ConstTensorView logits, ConstTensorView targets, float scale,
                   TensorView losses, TensorView dlogits);

bool add(const Device& device, ConstTensorView a, ConstTensorView b, TensorView out);
bool convert(const Device& device, ConstTensorView from, TensorView to);
bool sum_squares(const Device& device, std::span<const float> x, double& sum);

bool adamw_update(const Device& device, const AdamStep& step, std::span<float> weight,
                  std::span<const float> grad, std::span<float> m, std::span<float> v, std::span<bf16> copy);
bool lamb_direction(const Device& device, const AdamStep& step, std::span<const float> weight,
                    std::span<float> grad, std::span<float> m, std::span<float> v, LambNorms& norms);
bool lamb_apply(const Device& device, float rate, std::span<float> weight, std::span<const float> u,
                std::span<bf16> copy);

}  // namespace longhaul::kernels::reference
