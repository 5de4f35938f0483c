// Element-wise ops and the sum of squares, plain loops on views.
#include "kernels/reference/reference.h"
#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

bool add(const Device& /*device*/, ConstTensorView a, ConstTensorView b, TensorView out) {
    with_type(out.dtype, [&]<typename T>(T) {
        const Rows<const T> from_a = rows_of<const T>(a);
        const Rows<const T> from_b = rows_of<const T>(b);
        const Rows<T> to = rows_of<T>(out);
        for (std::int64_t t = 0; t < to.rows; ++t) {
            for (std::int64_t i = 0; i < to.columns; ++i)
                store(to[t][i], load(from_a[t][i]) + load(from_b[t][i]));
        }
    });
    return true;
}

bool convert(const Device& /*device*/, ConstTensorView from, TensorView to) {
    with_type(from.dtype, [&]<typename F>(F) {
        with_type(to.dtype, [&]<typename T>(T) {
            const Rows<const F> source = rows_of<const F>(from);
            const Rows<T> target = rows_of<T>(to);
            for (std::int64_t t = 0; t < target.rows; ++t) {
                for (std::int64_t i = 0; i < target.columns; ++i) store(target[t][i], load(source[t][i]));
            }
        });
    });
    return true;
}

bool sum_squares(const Device& /*device*/, std::span<const float> x, double& sum) {
    sum = 0;
    for (const float value : x) sum += load(value) * load(value);
    return true;
}

}  // namespace longhaul::kernels::reference
