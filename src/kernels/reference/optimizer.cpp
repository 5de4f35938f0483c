// Optimizer updates of fp32 tensors.
#include "kernels/reference/optimizer.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool adamw_update(const Device& /*device*/, const AdamStep& step, std::span<float> weight,
                  std::span<const float> grad, std::span<float> m, std::span<float> v, std::span<bf16> copy) {
    adamw_update<float>(step, weight, grad, m, v, copy);
    return true;
}

bool lamb_direction(const Device& /*device*/, const AdamStep& step, std::span<const float> weight,
                    std::span<float> grad, std::span<float> m, std::span<float> v, LambNorms& norms) {
    norms = lamb_direction<float>(step, weight, grad, m, v);
    return true;
}

bool lamb_apply(const Device& /*device*/, float rate, std::span<float> weight, std::span<const float> u,
                std::span<bf16> copy) {
    lamb_apply<float>(rate, weight, u, copy);
    return true;
}

}  // namespace longhaul::kernels::reference
