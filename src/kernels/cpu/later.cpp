// What has no fast form yet is left to the plain loops.
#include "kernels/cpu/cpu.h"

namespace longhaul::kernels::cpu {

bool layernorm_forward(const Device& /*device*/, ConstTensorView /*x*/, ConstTensorView /*weight*/,
                       ConstTensorView /*bias*/, float /*eps*/, TensorView /*y*/, TensorView /*mean*/,
                       TensorView /*rstd*/) {
    return false;
}

bool layernorm_backward(const Device& /*device*/, ConstTensorView /*dy*/, ConstTensorView /*x*/,
                        ConstTensorView /*weight*/, ConstTensorView /*mean*/, ConstTensorView /*rstd*/,
                        TensorView /*dx*/, TensorView /*dweight*/, TensorView /*dbias*/,
                        Accumulate /*accumulate*/) {
    return false;
}

bool rmsnorm_forward(const Device& /*device*/, ConstTensorView /*x*/, ConstTensorView /*weight*/,
                     float /*eps*/, TensorView /*y*/, TensorView /*rstd*/) {
    return false;
}

bool rmsnorm_backward(const Device& /*device*/, ConstTensorView /*dy*/, ConstTensorView /*x*/,
                      ConstTensorView /*weight*/, ConstTensorView /*rstd*/, TensorView /*dx*/,
                      TensorView /*dweight*/, Accumulate /*accumulate*/) {
    return false;
}

bool bias_gelu_forward(const Device& /*device*/, ConstTensorView /*x*/, ConstTensorView /*bias*/,
                       TensorView /*y*/) {
    return false;
}

bool bias_gelu_backward(const Device& /*device*/, ConstTensorView /*dy*/, ConstTensorView /*x*/,
                        ConstTensorView /*bias*/, TensorView /*dx*/, TensorView /*dbias*/) {
    return false;
}

bool swiglu_forward(const Device& /*device*/, ConstTensorView /*gate_up*/, TensorView /*y*/) {
    return false;
}

bool swiglu_backward(const Device& /*device*/, ConstTensorView /*dy*/, ConstTensorView /*gate_up*/,
                     TensorView /*d_gate_up*/) {
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

bool attention_forward(const Device& /*device*/, const AttentionShape& /*shape*/, ConstTensorView /*q*/,
                       ConstTensorView /*k*/, ConstTensorView /*v*/, const Dropout& /*mask*/,
                       TensorView /*o*/, TensorView /*lse*/) {
    return false;
}

bool attention_backward(const Device& /*device*/, const AttentionShape& /*shape*/, ConstTensorView /*q*/,
                        ConstTensorView /*k*/, ConstTensorView /*v*/, ConstTensorView /*o*/,
                        ConstTensorView /*lse*/, ConstTensorView /*d_o*/, const Dropout& /*mask*/,
                        TensorView /*dq*/, TensorView /*dk*/, TensorView /*dv*/) {
    return false;
}

bool embedding_forward(const Device& /*device*/, ConstTensorView /*ids*/, ConstTensorView /*table*/,
                       ConstTensorView /*positions*/, std::int64_t /*sequence*/,
                       std::int64_t /*first_position*/, TensorView /*y*/) {
    return false;
}

bool embedding_backward(const Device& /*device*/, ConstTensorView /*ids*/, ConstTensorView /*dy*/,
                        std::int64_t /*sequence*/, TensorView /*dtable*/, TensorView /*dpositions*/) {
    return false;
}

bool cross_entropy(const Device& /*device*/, ConstTensorView /*logits*/, ConstTensorView /*targets*/,
                   float /*scale*/, TensorView /*losses*/, TensorView /*dlogits*/) {
    return false;
}

bool add(const Device& /*device*/, ConstTensorView /*a*/, ConstTensorView /*b*/, TensorView /*out*/) {
    return false;
}

bool convert(const Device& /*device*/, ConstTensorView /*from*/, TensorView /*to*/) {
    return false;
}

bool sum_squares(const Device& /*device*/, std::span<const float> /*x*/, double& /*sum*/) {
    return false;
}

bool adamw_update(const Device& /*device*/, const AdamStep& /*step*/, std::span<float> /*weight*/,
                  std::span<const float> /*grad*/, std::span<float> /*m*/, std::span<float> /*v*/,
                  std::span<bf16> /*copy*/) {
    return false;
}

bool lamb_direction(const Device& /*device*/, const AdamStep& /*step*/, std::span<const float> /*weight*/,
                    std::span<float> /*grad*/, std::span<float> /*m*/, std::span<float> /*v*/,
                    LambNorms& /*norms*/) {
    return false;
}

bool lamb_apply(const Device& /*device*/, float /*rate*/, std::span<float> /*weight*/,
                std::span<const float> /*u*/, std::span<bf16> /*copy*/) {
    return false;
}

}  // namespace longhaul::kernels::cpu
