// The best matrix-product rate of this machine: the peak that model FLOPs are compared with.
#pragma once

#include "kernels/device.h"
#include "tensor/dtype.h"

namespace longhaul::kernels {

// Best floating-point operations a second (2 m n k for each product) of linear_forward over a few large
// shapes in this compute type, with the threads that kernels use here. Takes about this many seconds and 100
// MB of memory.
[[nodiscard]] double best_matmul_rate(const Device& device, DType compute, double seconds);

}  // namespace longhaul::kernels
