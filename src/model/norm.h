// LayerNorm or RMSNorm, as the model has it.
#pragma once

#include "model/environment.h"

namespace longhaul::model {

struct NormSlot {
    Slot weight, bias;
};

// fp32 [tokens] each; mean is unused by RMSNorm.
struct NormStatistics {
    TensorView mean, rstd;
};

// y[T, H] = norm(x)
void norm_forward(const Environment& env, const NormSlot& slot, ConstTensorView x, TensorView y,
                  const NormStatistics& statistics);
// dx[T, H] (+)= gradient with respect to x; parameters' gradients are added to.
void norm_backward(const Environment& env, const NormSlot& slot, ConstTensorView dy, ConstTensorView x,
                   const NormStatistics& statistics, TensorView dx, kernels::Accumulate accumulate);

}  // namespace longhaul::model
