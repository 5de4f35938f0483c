// Activations: checks and choice of the implementation.
#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

void bias_gelu_forward(const Device& device, ConstTensorView x, ConstTensorView bias, TensorView y) {
    constexpr const char* op = "bias_gelu_forward";
    check_compute_type(op, "x", x.dtype);
    check_matrix(op, "x", x, x.dtype, x.rows(), x.columns());
    check_optional_vector(op, "bias", bias, DType::f32, x.columns());
    check_matrix(op, "y", y, x.dtype, x.rows(), x.columns());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(x, y)); });
    dispatch<cpu::bias_gelu_forward, reference::bias_gelu_forward>(device, x, bias, y);
}

void bias_gelu_backward(const Device& device, ConstTensorView dy, ConstTensorView x, ConstTensorView bias,
                        TensorView dx, TensorView dbias) {
    constexpr const char* op = "bias_gelu_backward";
    check_compute_type(op, "x", x.dtype);
    check_matrix(op, "x", x, x.dtype, x.rows(), x.columns());
    check_matrix(op, "dy", dy, x.dtype, x.rows(), x.columns());
    check_optional_vector(op, "bias", bias, DType::f32, x.columns());
    check_matrix(op, "dx", dx, x.dtype, x.rows(), x.columns());
    check_optional_vector(op, "dbias", dbias, DType::f32, x.columns());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(dy, x, dx)); });
    dispatch<cpu::bias_gelu_backward, reference::bias_gelu_backward>(device, dy, x, bias, dx, dbias);
}

void swiglu_forward(const Device& device, ConstTensorView gate_up, TensorView y) {
    constexpr const char* op = "swiglu_forward";
    check_compute_type(op, "y", y.dtype);
    check_matrix(op, "gate_up", gate_up, y.dtype, y.rows(), 2 * y.columns());
    check_matrix(op, "y", y, y.dtype, y.rows(), y.columns());
    const OpTimer timer(device, op, y.dtype, [&] { return traffic(bytes_of(gate_up, y)); });
    dispatch<cpu::swiglu_forward, reference::swiglu_forward>(device, gate_up, y);
}

void swiglu_backward(const Device& device, ConstTensorView dy, ConstTensorView gate_up,
                     TensorView d_gate_up) {
    constexpr const char* op = "swiglu_backward";
    check_compute_type(op, "dy", dy.dtype);
    check_matrix(op, "dy", dy, dy.dtype, dy.rows(), dy.columns());
    check_matrix(op, "gate_up", gate_up, dy.dtype, dy.rows(), 2 * dy.columns());
    check_matrix(op, "d_gate_up", d_gate_up, dy.dtype, dy.rows(), 2 * dy.columns());
    const OpTimer timer(device, op, dy.dtype, [&] { return traffic(bytes_of(dy, gate_up, d_gate_up)); });
    dispatch<cpu::swiglu_backward, reference::swiglu_backward>(device, dy, gate_up, d_gate_up);
}

}  // namespace longhaul::kernels
