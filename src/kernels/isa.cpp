// Which instruction sets this processor and operating system offer.
#include <cpuid.h>

#include <array>
#include <string>

#include "base/error.h"
#include "kernels/cpu/targets.h"
#include "kernels/device.h"

namespace longhaul::kernels {

namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 5> kNames{{{Isa::sse2, "sse2"},
                                                                  {Isa::avx2, "avx2"},
                                                                  {Isa::avx512, "avx512"},
                                                                  {Isa::avx512_bf16, "avx512_bf16"},
                                                                  {Isa::amx, "amx"}}};

// Whether the operating system saves the tile registers: bits 17 and 18 of the extended control register.
bool tiles_enabled() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 0x60000U) == 0x60000U;
}

bool offered(Isa isa) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
    std::uint32_t d = 0;
    switch (isa) {
        case Isa::sse2:
            return true;
        case Isa::avx2:
            return (hwy::SupportedTargets() & HWY_AVX2) != 0;
        case Isa::avx512:
            return offered(Isa::avx2) && (hwy::SupportedTargets() & HWY_AVX3) != 0;
        case Isa::avx512_bf16:
            return offered(Isa::avx512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
                   (a & (1U << 5U)) != 0;
        case Isa::amx:
            // AMX-BF16 and AMX-TILE.
            return offered(Isa::avx512_bf16) && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
                   (d & (1U << 22U)) != 0 && (d & (1U << 24U)) != 0 && tiles_enabled();
    }
    return false;
}

}  // namespace

std::string_view name_of(Isa isa) {
    for (const auto& [value, name] : kNames) {
        if (value == isa) return name;
    }
    return "?";
}

Isa parse_isa(std::string_view name) {
    std::string known;
    for (const auto& [value, known_name] : kNames) {
        if (known_name == name) return value;
        known += (known.empty() ? "" : ", ") + std::string(known_name);
    }
    fail(ErrorCode::bad_config, "there is no instruction set '{}'; choose one of {}", name, known);
}

std::vector<Isa> available_isas() {
    std::vector<Isa> found;
    for (const auto& [isa, name] : kNames) {
        if (offered(isa)) found.push_back(isa);
    }
    return found;
}

Isa best_isa() {
    return available_isas().back();
}

}  // namespace longhaul::kernels
