// 64-bit hashes of bytes (XXH3), at once or streamed: file checks, fingerprints, random streams.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace longhaul {

[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0);

// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string hash_hex(std::uint64_t hash);

class Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    void update(std::span<const std::byte> bytes);
    [[nodiscard]] std::uint64_t digest() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace longhaul
