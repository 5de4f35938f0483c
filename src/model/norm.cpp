// Chooses the norm's kernels.
#include "model/norm.h"

namespace longhaul::model {

void norm_forward(const Environment& env, const NormSlot& slot, ConstTensorView x, TensorView y,
                  const NormStatistics& statistics) {
    const auto eps = static_cast<float>(env.model.norm_eps);
    const ConstTensorView weight = env.parameters.vector(slot.weight);
    if (env.model.norm == spec::Norm::layernorm) {
        kernels::layernorm_forward(env.device, x, weight, env.parameters.vector(slot.bias), eps, y,
                                   statistics.mean, statistics.rstd);
    } else {
        kernels::rmsnorm_forward(env.device, x, weight, eps, y, statistics.rstd);
    }
}

void norm_backward(const Environment& env, const NormSlot& slot, ConstTensorView dy, ConstTensorView x,
                   const NormStatistics& statistics, TensorView dx, kernels::Accumulate accumulate) {
    const ConstTensorView weight = env.parameters.vector(slot.weight);
    const TensorView dweight = env.parameters.gradient(slot.weight);
    if (env.model.norm == spec::Norm::layernorm) {
        kernels::layernorm_backward(env.device, dy, x, weight, statistics.mean, statistics.rstd, dx, dweight,
                                    env.parameters.gradient(slot.bias), accumulate);
    } else {
        kernels::rmsnorm_backward(env.device, dy, x, weight, statistics.rstd, dx, dweight, accumulate);
    }
}

}  // namespace longhaul::model
