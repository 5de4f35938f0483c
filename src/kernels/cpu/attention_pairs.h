// Attention in bf16 on processors with AVX-512-BF16: products multiply pairs of bf16 at twice the rate of
// fp32. Probabilities and the gradients of scores are rounded to bf16 before the products that take them.
#pragma once

#include "kernels/cpu/attention_task.h"

namespace longhaul::kernels::cpu {

// Floats of scratch of a task.
[[nodiscard]] std::int64_t forward_pairs_scratch(const AttentionTask& t);
[[nodiscard]] std::int64_t backward_pairs_scratch(const AttentionTask& t);

void forward_pairs(const AttentionTask& t, const AttentionForward<bf16>& a, const Dropout& mask,
                   float* scratch);
void backward_pairs(const AttentionTask& t, const AttentionBackward<bf16>& a, const Dropout& mask,
                    float* scratch);

}  // namespace longhaul::kernels::cpu
