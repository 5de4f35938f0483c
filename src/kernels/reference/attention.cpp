// Attention on views.
#include "kernels/reference/attention.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool attention_forward(const Device& /*device*/, const AttentionShape& shape, ConstTensorView q,
                       ConstTensorView k, ConstTensorView v, const Dropout& mask, TensorView o,
                       TensorView lse) {
    with_type(q.dtype, [&]<typename T>(T) {
        attention_forward(shape, rows_of<const T>(q), rows_of<const T>(k), rows_of<const T>(v), mask,
                          rows_of<T>(o), lse.as<float>());
    });
    return true;
}

bool attention_backward(const Device& /*device*/, const AttentionShape& shape, ConstTensorView q,
                        ConstTensorView k, ConstTensorView v, ConstTensorView o, ConstTensorView lse,
                        ConstTensorView d_o, const Dropout& mask, TensorView dq, TensorView dk,
                        TensorView dv) {
    with_type(q.dtype, [&]<typename T>(T) {
        attention_backward(shape, rows_of<const T>(q), rows_of<const T>(k), rows_of<const T>(v),
                           rows_of<const T>(o), lse.as<float>(), rows_of<const T>(d_o), mask, rows_of<T>(dq),
                           rows_of<T>(dk), rows_of<T>(dv));
    });
    return true;
}

}  // namespace longhaul::kernels::reference
