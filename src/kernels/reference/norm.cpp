// Norms on views.
#include "kernels/reference/norm.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool layernorm_forward(const Device& /*device*/, ConstTensorView x, ConstTensorView weight,
                       ConstTensorView bias, float eps, TensorView y, TensorView mean, TensorView rstd) {
    with_type(x.dtype, [&]<typename T>(T) {
        layernorm_forward(rows_of<const T>(x), weight.as<float>(), vector_of<float>(bias), eps, rows_of<T>(y),
                          mean.as<float>(), rstd.as<float>());
    });
    return true;
}

bool layernorm_backward(const Device& /*device*/, ConstTensorView dy, ConstTensorView x,
                        ConstTensorView weight, ConstTensorView mean, ConstTensorView rstd, TensorView dx,
                        TensorView dweight, TensorView dbias, Accumulate accumulate) {
    with_type(x.dtype, [&]<typename T>(T) {
        layernorm_backward(rows_of<const T>(dy), rows_of<const T>(x), weight.as<float>(), mean.as<float>(),
                           rstd.as<float>(), rows_of<T>(dx), dweight.as<float>(), vector_of<float>(dbias),
                           accumulate == Accumulate::yes);
    });
    return true;
}

bool rmsnorm_forward(const Device& /*device*/, ConstTensorView x, ConstTensorView weight, float eps,
                     TensorView y, TensorView rstd) {
    with_type(x.dtype, [&]<typename T>(T) {
        rmsnorm_forward(rows_of<const T>(x), weight.as<float>(), eps, rows_of<T>(y), rstd.as<float>());
    });
    return true;
}

bool rmsnorm_backward(const Device& /*device*/, ConstTensorView dy, ConstTensorView x, ConstTensorView weight,
                      ConstTensorView rstd, TensorView dx, TensorView dweight, Accumulate accumulate) {
    with_type(x.dtype, [&]<typename T>(T) {
        rmsnorm_backward(rows_of<const T>(dy), rows_of<const T>(x), weight.as<float>(), rstd.as<float>(),
                         rows_of<T>(dx), dweight.as<float>(), accumulate == Accumulate::yes);
    });
    return true;
}

}  // namespace longhaul::kernels::reference
