// Rotary positions and dropout on views.
#include "kernels/reference/positional.h"

#include "kernels/reference/reference.h"

namespace longhaul::kernels::reference {

bool rope(const Device& /*device*/, ConstTensorView table, std::int64_t head_dim, std::int64_t sequence,
          std::int64_t first_position, bool inverse, TensorView x) {
    with_type(x.dtype, [&]<typename T>(T) {
        rope(rows_of<const float>(table), head_dim, sequence, first_position, inverse, rows_of<T>(x));
    });
    return true;
}

bool dropout(const Device& /*device*/, ConstTensorView x, const Dropout& mask, std::int64_t sequence,
             TensorView y) {
    with_type(x.dtype, [&]<typename T>(T) { dropout(rows_of<const T>(x), mask, sequence, rows_of<T>(y)); });
    return true;
}

}  // namespace longhaul::kernels::reference
