// Linear layers on views.
#include "kernels/reference/linear.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool linear_forward(const Device& /*device*/, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                    TensorView y) {
    with_type(x.dtype, [&]<typename T>(T) {
        with_type(y.dtype, [&]<typename Y>(Y) {
            linear_forward(rows_of<const T>(x), rows_of<const T>(weight), vector_of<float>(bias),
                           rows_of<Y>(y));
        });
    });
    return true;
}

bool linear_input_grad(const Device& /*device*/, ConstTensorView dy, ConstTensorView weight, TensorView dx,
                       Accumulate accumulate) {
    with_type(dy.dtype, [&]<typename T>(T) {
        linear_input_grad(rows_of<const T>(dy), rows_of<const T>(weight), rows_of<T>(dx),
                          accumulate == Accumulate::yes);
    });
    return true;
}

bool linear_weight_grad(const Device& /*device*/, ConstTensorView dy, ConstTensorView x, TensorView dweight,
                        TensorView dbias) {
    with_type(dy.dtype, [&]<typename T>(T) {
        linear_weight_grad(rows_of<const T>(dy), rows_of<const T>(x), rows_of<float>(dweight),
                           vector_of<float>(dbias));
    });
    return true;
}

}  // namespace longhaul::kernels::reference
