// XXH3 behind our own names.
#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace longhaul {

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash64(std::string_view text, std::uint64_t seed) {
    return hash64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

std::string hash_hex(std::uint64_t hash) {
    return fmt::format("{:016x}", hash);
}

struct Hasher::State {
    XXH3_state_t* xxh = XXH3_createState();
    State() { XXH3_64bits_reset(xxh); }
    ~State() { XXH3_freeState(xxh); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t Hasher::digest() const {
    return XXH3_64bits_digest(state_->xxh);
}

}  // namespace longhaul
