// What has no fast form yet is left to the plain loops.
#include "kernels/cpu/cpu.h"

namespace longhaul::kernels::cpu {

bool rope(const Device& /*device*/, ConstTensorView /*table*/, std::int64_t /*head_dim*/,
          std::int64_t /*sequence*/, std::int64_t /*first_position*/, bool /*inverse*/, TensorView /*x*/) {
    return false;
}

bool dropout(const Device& /*device*/, ConstTensorView /*x*/, const Dropout& /*mask*/,
             std::int64_t /*sequence*/, TensorView /*y*/) {
    return false;
}

}  // namespace longhaul::kernels::cpu
