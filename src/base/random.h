// Counter-based random numbers (Philox4x32-10, Salmon et al., SC'11): a value is a pure function of (key,
// counter), so what is drawn never depends on the layout, the number of threads or the order of calls.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace longhaul {

using Philox4 = std::array<std::uint32_t, 4>;

// One block of four 32-bit numbers.
[[nodiscard]] Philox4 philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high);

// The key of a stream: what is drawn for (seed, purpose, name), for example (1234, "init",
// "layers.3.attention.q.weight").
[[nodiscard]] std::uint64_t stream_key(std::uint64_t seed, std::string_view purpose, std::string_view name);

// The index-th standard normal of a stream (Box-Muller on the index's own counter).
[[nodiscard]] float normal_at(std::uint64_t key, std::uint64_t index);

// Uniform in [0, 1) with 24 bits, from one 32-bit word.
[[nodiscard]] constexpr float uniform_from(std::uint32_t word) {
    return static_cast<float>(word >> 8U) * 0x1.0p-24F;
}

}  // namespace longhaul
