// Norms: checks and choice of the implementation.
#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

namespace {

void check_input(const char* op, const ConstTensorView& x, const ConstTensorView& weight) {
    check_compute_type(op, "x", x.dtype);
    check_matrix(op, "x", x, x.dtype, x.rows(), x.columns());
    require(x.columns() > 0, ErrorCode::internal, "{}: rows without columns have no mean", op);
    check_vector(op, "weight", weight, DType::f32, x.columns());
}

}  // namespace

void layernorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                       float eps, TensorView y, TensorView mean, TensorView rstd) {
    constexpr const char* op = "layernorm_forward";
    check_input(op, x, weight);
    check_optional_vector(op, "bias", bias, DType::f32, x.columns());
    check_matrix(op, "y", y, x.dtype, x.rows(), x.columns());
    check_vector(op, "mean", mean, DType::f32, x.rows());
    check_vector(op, "rstd", rstd, DType::f32, x.rows());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(x, y)); });
    dispatch<cpu::layernorm_forward, reference::layernorm_forward>(device, x, weight, bias, eps, y, mean,
                                                                   rstd);
}

void layernorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                        ConstTensorView mean, ConstTensorView rstd, TensorView dx, TensorView dweight,
                        TensorView dbias, Accumulate accumulate) {
    constexpr const char* op = "layernorm_backward";
    check_input(op, x, weight);
    check_matrix(op, "dy", dy, x.dtype, x.rows(), x.columns());
    check_vector(op, "mean", mean, DType::f32, x.rows());
    check_vector(op, "rstd", rstd, DType::f32, x.rows());
    check_matrix(op, "dx", dx, x.dtype, x.rows(), x.columns());
    check_vector(op, "dweight", dweight, DType::f32, x.columns());
    check_optional_vector(op, "dbias", dbias, DType::f32, x.columns());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(dy, x, dx)); });
    dispatch<cpu::layernorm_backward, reference::layernorm_backward>(device, dy, x, weight, mean, rstd, dx,
                                                                     dweight, dbias, accumulate);
}

void rmsnorm_forward(const Device& device, ConstTensorView x, ConstTensorView weight, float eps, TensorView y,
                     TensorView rstd) {
    constexpr const char* op = "rmsnorm_forward";
    check_input(op, x, weight);
    check_matrix(op, "y", y, x.dtype, x.rows(), x.columns());
    check_vector(op, "rstd", rstd, DType::f32, x.rows());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(x, y)); });
    dispatch<cpu::rmsnorm_forward, reference::rmsnorm_forward>(device, x, weight, eps, y, rstd);
}

void rmsnorm_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                      ConstTensorView rstd, TensorView dx, TensorView dweight, Accumulate accumulate) {
    constexpr const char* op = "rmsnorm_backward";
    check_input(op, x, weight);
    check_matrix(op, "dy", dy, x.dtype, x.rows(), x.columns());
    check_vector(op, "rstd", rstd, DType::f32, x.rows());
    check_matrix(op, "dx", dx, x.dtype, x.rows(), x.columns());
    check_vector(op, "dweight", dweight, DType::f32, x.columns());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(dy, x, dx)); });
    dispatch<cpu::rmsnorm_backward, reference::rmsnorm_backward>(device, dy, x, weight, rstd, dx, dweight,
                                                                 accumulate);
}

}  // namespace longhaul::kernels
