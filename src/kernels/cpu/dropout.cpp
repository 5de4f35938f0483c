// Dropout: rows in parallel, the plain loop's arithmetic on each.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/rows.h"
#include "tensor/dtype.h"

namespace longhaul::kernels::cpu {

namespace {

template <typename T>
void drop(ConstTensorView x, const Dropout& mask, std::int64_t sequence, TensorView y) {
    const std::int64_t columns = x.columns();
    each_rows(x.rows(), columns, [&](std::int64_t first, std::int64_t count, std::int64_t) {
        DropoutMask kept(mask);
        for (std::int64_t r = first; r < first + count; ++r) {
            const T* from = x.as<T>() + r * x.row_stride;
            T* to = y.as<T>() + r * y.row_stride;
            const std::int64_t sample = mask.first_sample + r / sequence;
            const auto start = static_cast<std::uint64_t>((sample * sequence + r % sequence) * columns);
            for (std::int64_t c = 0; c < columns; ++c) {
                const bool keep = kept.keeps(start + static_cast<std::uint64_t>(c));
                to[c] = keep ? T(static_cast<float>(from[c]) * kept.scale()) : T(0.0F);
            }
        }
    });
}

}  // namespace

bool dropout(const Device& /*device*/, ConstTensorView x, const Dropout& mask, std::int64_t sequence,
             TensorView y) {
    if (x.dtype == DType::f32) {
        drop<float>(x, mask, sequence, y);
    } else {
        drop<bf16>(x, mask, sequence, y);
    }
    return true;
}

}  // namespace longhaul::kernels::cpu
