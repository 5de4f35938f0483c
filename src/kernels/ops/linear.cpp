// Linear layers: checks and choice of the implementation.
#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

void linear_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                    TensorView y) {
    constexpr const char* op = "linear_forward";
    check_compute_type(op, "x", x.dtype);
    check_matrix(op, "x", x, x.dtype, x.rows(), weight.columns());
    check_matrix(op, "weight", weight, x.dtype, weight.rows(), weight.columns());
    check_optional_vector(op, "bias", bias, DType::f32, weight.rows());
    check_matrix(op, "y", y, y.dtype == DType::f32 ? DType::f32 : x.dtype, x.rows(), weight.rows());
    const OpTimer timer(device, op, x.dtype, [&] {
        return product_cost(y.rows(), y.columns(), x.columns(), x.dtype, y.dtype, false);
    });
    dispatch<cpu::linear_forward, reference::linear_forward>(device, x, weight, bias, y);
}

void linear_input_grad(const Device& device, ConstTensorView dy, ConstTensorView weight, TensorView dx,
                       Accumulate accumulate) {
    constexpr const char* op = "linear_input_grad";
    check_compute_type(op, "dy", dy.dtype);
    check_matrix(op, "dy", dy, dy.dtype, dy.rows(), weight.rows());
    check_matrix(op, "weight", weight, dy.dtype, weight.rows(), weight.columns());
    check_matrix(op, "dx", dx, dy.dtype, dy.rows(), weight.columns());
    const OpTimer timer(device, op, dy.dtype, [&] {
        return product_cost(dx.rows(), dx.columns(), dy.columns(), dy.dtype, dx.dtype,
                            accumulate == Accumulate::yes);
    });
    dispatch<cpu::linear_input_grad, reference::linear_input_grad>(device, dy, weight, dx, accumulate);
}

void linear_weight_grad(const Device& device, ConstTensorView dy, ConstTensorView x, TensorView dweight,
                        TensorView dbias) {
    constexpr const char* op = "linear_weight_grad";
    check_compute_type(op, "dy", dy.dtype);
    check_matrix(op, "dy", dy, dy.dtype, x.rows(), dy.columns());
    check_matrix(op, "x", x, dy.dtype, x.rows(), x.columns());
    check_matrix(op, "dweight", dweight, DType::f32, dy.columns(), x.columns());
    check_optional_vector(op, "dbias", dbias, DType::f32, dy.columns());
    const OpTimer timer(device, op, dy.dtype, [&] {
        return product_cost(dweight.rows(), dweight.columns(), dy.rows(), dy.dtype, DType::f32, true);
    });
    dispatch<cpu::linear_weight_grad, reference::linear_weight_grad>(device, dy, x, dweight, dbias);
}

}  // namespace longhaul::kernels
