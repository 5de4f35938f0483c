// What has no fast form yet is left to the plain loops.
#include "kernels/cpu/cpu.h"

namespace longhaul::kernels::cpu {

bool linear_forward(const Device& /*device*/, ConstTensorView /*x*/, ConstTensorView /*weight*/,
                    ConstTensorView /*bias*/, TensorView /*y*/) {
    return false;
}

bool linear_input_grad(const Device& /*device*/, ConstTensorView /*dy*/, ConstTensorView /*weight*/,
                       TensorView /*dx*/, Accumulate /*accumulate*/) {
    return false;
}

bool linear_weight_grad(const Device& /*device*/, ConstTensorView /*dy*/, ConstTensorView /*x*/,
                        TensorView /*dweight*/, TensorView /*dbias*/) {
    return false;
}

bool rope(const Device& /*device*/, ConstTensorView /*table*/, std::int64_t /*head_dim*/,
          std::int64_t /*sequence*/, std::int64_t /*first_position*/, bool /*inverse*/, TensorView /*x*/) {
    return false;
}

bool dropout(const Device& /*device*/, ConstTensorView /*x*/, const Dropout& /*mask*/,
             std::int64_t /*sequence*/, TensorView /*y*/) {
    return false;
}

}  // namespace longhaul::kernels::cpu
