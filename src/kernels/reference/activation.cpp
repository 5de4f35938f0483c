// Activations on views.
#include "kernels/reference/activation.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool bias_gelu_forward(const Device& /*device*/, ConstTensorView x, ConstTensorView bias, TensorView y) {
    with_type(x.dtype, [&]<typename T>(T) {
        bias_gelu_forward(rows_of<const T>(x), vector_of<float>(bias), rows_of<T>(y));
    });
    return true;
}

bool bias_gelu_backward(const Device& /*device*/, ConstTensorView dy, ConstTensorView x, ConstTensorView bias,
                        TensorView dx, TensorView dbias) {
    with_type(x.dtype, [&]<typename T>(T) {
        bias_gelu_backward(rows_of<const T>(dy), rows_of<const T>(x), vector_of<float>(bias), rows_of<T>(dx),
                           vector_of<float>(dbias));
    });
    return true;
}

bool swiglu_forward(const Device& /*device*/, ConstTensorView gate_up, TensorView y) {
    with_type(y.dtype, [&]<typename T>(T) { swiglu_forward(rows_of<const T>(gate_up), rows_of<T>(y)); });
    return true;
}

bool swiglu_backward(const Device& /*device*/, ConstTensorView dy, ConstTensorView gate_up,
                     TensorView d_gate_up) {
    with_type(dy.dtype, [&]<typename T>(T) {
        swiglu_backward(rows_of<const T>(dy), rows_of<const T>(gate_up), rows_of<T>(d_gate_up));
    });
    return true;
}

}  // namespace longhaul::kernels::reference
