// Sums over the rows of a matrix, for the gradients of biases.
#pragma once

#include "kernels/device.h"
#include "tensor/view.h"

namespace longhaul::kernels::cpu {

// sums[i] += sum over rows of x[row, i], in double, rows in order. x: fp32 or bf16; sums: fp32.
void add_column_sums(const Device& device, ConstTensorView x, float* sums);

}  // namespace longhaul::kernels::cpu
