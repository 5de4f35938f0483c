// Rotary positions and dropout, plain loops.
#pragma once

#include "base/random.h"
#include "kernels/kernels.h"
#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

template <typename T, typename P>
void rope(Rows<const P> table, std::int64_t head_dim, std::int64_t sequence, std::int64_t first_position,
          bool inverse, Rows<T> x) {
    const std::int64_t half = table.columns / 2;
    for (std::int64_t r = 0; r < x.rows; ++r) {
        const P* angles = table[first_position + r % sequence];
        for (std::int64_t head = 0; head < x.columns; head += head_dim) {
            for (std::int64_t i = 0; i < half; ++i) {
                const double cosine = load(angles[i]);
                const double sine = inverse ? -load(angles[half + i]) : load(angles[half + i]);
                T& first = x[r][head + i];
                T& second = x[r][head + half + i];
                const double a = load(first);
                const double b = load(second);
                store(first, a * cosine - b * sine);
                store(second, b * cosine + a * sine);
            }
        }
    }
}

// What element `number` of a masked tensor is multiplied by: 0 or 1 / (1 - p).
inline double dropout_factor(const Dropout& mask, std::uint64_t number) {
    if (!mask.on()) return 1.0;
    const bool kept = uniform_from(philox(mask.key, number / 4, mask.step)[number % 4]) >= mask.probability;
    return kept ? static_cast<double>(1.0F / (1.0F - mask.probability)) : 0.0;
}

template <typename T>
void dropout(Rows<const T> x, const Dropout& mask, std::int64_t sequence, Rows<T> y) {
    for (std::int64_t r = 0; r < x.rows; ++r) {
        const std::int64_t sample = mask.first_sample + r / sequence;
        const std::int64_t first = (sample * sequence + r % sequence) * x.columns;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            store(y[r][i], load(x[r][i]) * dropout_factor(mask, static_cast<std::uint64_t>(first + i)));
        }
    }
}

}  // namespace longhaul::kernels::reference
