// A matrix transposed between two dense buffers, tile by tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace longhaul::checkpoint {

// in: [rows, columns]; out: [columns, rows], of the same size and elsewhere.
inline void transpose(std::span<const float> in, std::int64_t rows, std::int64_t columns,
                      std::span<float> out) {
    constexpr std::int64_t kTile = 32;
    for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
        for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
            for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
                for (std::int64_t c = c0; c < std::min(columns, c0 + kTile); ++c)
                    out[static_cast<std::size_t>(c * rows + r)] =
                        in[static_cast<std::size_t>(r * columns + c)];
            }
        }
    }
}

}  // namespace longhaul::checkpoint
