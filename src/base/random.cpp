// Philox4x32-10 and the distributions on top of it.
#include "base/random.h"

#include <cmath>
#include <numbers>

#include "base/hash.h"

namespace longhaul {

namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;

Philox4 round_once(const Philox4& c, std::uint32_t k0, std::uint32_t k1) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(kMultiplier0) * c[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(kMultiplier1) * c[2];
    return {static_cast<std::uint32_t>(p1 >> 32U) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
            static_cast<std::uint32_t>(p0 >> 32U) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
}

}  // namespace

Philox4 philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
    Philox4 c{static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32U),
              static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32U)};
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32U);
    for (int round = 0; round < 10; ++round) {
        c = round_once(c, k0, k1);
        k0 += kWeyl0;
        k1 += kWeyl1;
    }
    return c;
}

std::uint64_t stream_key(std::uint64_t seed, std::string_view purpose, std::string_view name) {
    return hash64(name, hash64(purpose, seed));
}

float normal_at(std::uint64_t key, std::uint64_t index) {
    // Two words make one uniform in (0, 1] with 53 bits, so that the logarithm is finite and the tails are
    // deep.
    const Philox4 w = philox(key, index, 0);
    const std::uint64_t bits = (static_cast<std::uint64_t>(w[0]) << 21U) ^ (w[1] >> 11U);
    const double u = (static_cast<double>(bits) + 1.0) * 0x1.0p-53;
    const double angle = 2.0 * std::numbers::pi * (static_cast<double>(w[2]) * 0x1.0p-32);
    return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(angle));
}

}  // namespace longhaul
