// Rotary positions and dropout: rows in parallel, the plain loops' arithmetic on each.
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/rows.h"
#include "tensor/dtype.h"

namespace longhaul::kernels::cpu {

namespace {

// (a, b) -> (a cos - b sin, b cos + a sin) for the two halves of a head's rotated columns.
template <typename T>
void rotate_row(T* row, std::int64_t columns, std::int64_t head_dim, const float* cosines, const float* sines,
                std::int64_t half, float sign) {
    for (std::int64_t head = 0; head < columns; head += head_dim) {
        T* low = row + head;
        T* high = low + half;
        for (std::int64_t i = 0; i < half; ++i) {
            const auto a = static_cast<float>(low[i]);
            const auto b = static_cast<float>(high[i]);
            const float sine = sign * sines[i];
            low[i] = T(a * cosines[i] - b * sine);
            high[i] = T(b * cosines[i] + a * sine);
        }
    }
}

template <typename T>
void rotate(ConstTensorView table, std::int64_t head_dim, std::int64_t sequence, std::int64_t first_position,
            bool inverse, TensorView x) {
    const std::int64_t half = table.columns() / 2;
    each_rows(x.rows(), x.columns(), [&](std::int64_t first, std::int64_t count, std::int64_t) {
        for (std::int64_t r = first; r < first + count; ++r) {
            const float* angles = table.as<float>() + (first_position + r % sequence) * table.row_stride;
            rotate_row(x.as<T>() + r * x.row_stride, x.columns(), head_dim, angles, angles + half, half,
                       inverse ? -1.0F : 1.0F);
        }
    });
}

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

bool rope(const Device& /*device*/, ConstTensorView table, std::int64_t head_dim, std::int64_t sequence,
          std::int64_t first_position, bool inverse, TensorView x) {
    if (x.dtype == DType::f32) {
        rotate<float>(table, head_dim, sequence, first_position, inverse, x);
    } else {
        rotate<bf16>(table, head_dim, sequence, first_position, inverse, x);
    }
    return true;
}

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
