// Rotary positions and dropout: rows in parallel, the plain loops' arithmetic on each.
#include <algorithm>

#include "base/checked.h"
#include "base/parallel_for.h"
#include "base/random.h"
#include "kernels/cpu/cpu.h"
#include "tensor/dtype.h"

namespace longhaul::kernels::cpu {

namespace {

// Rows of a piece of work: enough to be worth a thread.
constexpr std::int64_t kRows = 16;

template <typename Body>
void for_rows(std::int64_t rows, const Body& body) {
    parallel_for(div_ceil(rows, kRows), [&](std::int64_t piece) {
        const std::int64_t end = std::min(rows, (piece + 1) * kRows);
        for (std::int64_t r = piece * kRows; r < end; ++r) body(r);
    });
}

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
    for_rows(x.rows(), [&](std::int64_t r) {
        const float* angles = table.as<float>() + (first_position + r % sequence) * table.row_stride;
        rotate_row(x.as<T>() + r * x.row_stride, x.columns(), head_dim, angles, angles + half, half,
                   inverse ? -1.0F : 1.0F);
    });
}

template <typename T>
void drop(ConstTensorView x, const Dropout& mask, std::int64_t sequence, TensorView y) {
    const float kept = 1.0F / (1.0F - mask.probability);
    const std::int64_t columns = x.columns();
    for_rows(x.rows(), [&](std::int64_t r) {
        const T* from = x.as<T>() + r * x.row_stride;
        T* to = y.as<T>() + r * y.row_stride;
        const std::int64_t sample = mask.first_sample + r / sequence;
        const auto start = static_cast<std::uint64_t>((sample * sequence + r % sequence) * columns);
        Philox4 words{};
        for (std::int64_t c = 0; c < columns; ++c) {
            const std::uint64_t number = start + static_cast<std::uint64_t>(c);
            if (c == 0 || number % 4 == 0) words = philox(mask.key, number / 4, mask.step);
            const bool keep = uniform_from(words[number % 4]) >= mask.probability;
            to[c] = keep ? T(static_cast<float>(from[c]) * kept) : T(0.0F);
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
