// Embedding and cross-entropy on views.
#include "kernels/reference/ends.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool embedding_forward(const Device& /*device*/, ConstTensorView ids, ConstTensorView table,
                       ConstTensorView positions, std::int64_t sequence, std::int64_t first_position,
                       TensorView y) {
    with_type(y.dtype, [&]<typename T>(T) {
        const Rows<const T> rows = positions ? rows_of<const T>(positions) : Rows<const T>{};
        embedding_forward(ids.as<std::int32_t>(), rows_of<const T>(table), rows, sequence, first_position,
                          rows_of<T>(y));
    });
    return true;
}

bool embedding_backward(const Device& /*device*/, ConstTensorView ids, ConstTensorView dy,
                        std::int64_t sequence, TensorView dtable, TensorView dpositions) {
    with_type(dy.dtype, [&]<typename T>(T) {
        const Rows<float> rows = dpositions ? rows_of<float>(dpositions) : Rows<float>{};
        embedding_backward(ids.as<std::int32_t>(), rows_of<const T>(dy), sequence, rows_of<float>(dtable),
                           rows);
    });
    return true;
}

bool cross_entropy(const Device& /*device*/, ConstTensorView logits, ConstTensorView targets, float scale,
                   TensorView losses, TensorView dlogits) {
    with_type(dlogits ? dlogits.dtype : DType::f32, [&]<typename T>(T) {
        const Rows<T> gradients = dlogits ? rows_of<T>(dlogits) : Rows<T>{};
        cross_entropy(rows_of<const float>(logits), targets.as<std::int32_t>(), scale, losses.as<float>(),
                      gradients);
    });
    return true;
}

}  // namespace longhaul::kernels::reference
