// Devices: the choice of the instruction set, and the fact that the matrix library has one for the whole
// process.
#include "kernels/device.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "kernels/cpu/products.h"
#include "kernels/cpu/targets.h"
#include "kernels/state.h"

namespace longhaul::kernels {

namespace {

void check_available(Isa isa) {
    const std::vector<Isa> available = available_isas();
    if (std::find(available.begin(), available.end(), isa) != available.end()) return;
    std::string names;
    for (const Isa other : available) names += (names.empty() ? "" : ", ") + std::string(name_of(other));
    fail(ErrorCode::bad_config, "this processor doesn't have the instruction set {}; it has {}", name_of(isa),
         names);
}

Isa wanted_isa() {
    const char* text = std::getenv("LONGHAUL_ISA");
    return text == nullptr || *text == '\0' ? best_isa() : parse_isa(text);
}

// Highway's bits that a device of this set may not use.
std::int64_t targets_beyond(Isa isa) {
    std::int64_t targets = 0;
    if (isa < Isa::avx512) targets |= HWY_AVX3 | HWY_AVX3_DL;
    if (isa < Isa::avx2) targets |= HWY_AVX2 | HWY_SSE4 | HWY_SSSE3;
    return targets;
}

// The first device of a process fixes the matrix library's set, and the most that Highway's own dispatch
// takes.
void claim_process(Isa isa) {
    static std::mutex mutex;
    static std::optional<Isa> first;
    const std::lock_guard lock(mutex);
    if (!first) {
        Products::limit_process(isa);
        hwy::DisableTargets(targets_beyond(isa));
        first = isa;
    }
    require(isa <= *first, ErrorCode::internal,
            "a device of {} after one of {} in the same process: the first one is the limit", name_of(isa),
            name_of(*first));
}

}  // namespace

Device::State::State(Backend backend_, Isa isa_, MemoryLedger* ledger)
    : backend(backend_), isa(isa_), scratch(ledger) {}
Device::State::~State() = default;

Device Device::cpu(MemoryLedger* ledger) {
    return cpu(wanted_isa(), ledger);
}

Device Device::cpu(Isa isa, MemoryLedger* ledger) {
    check_available(isa);
    claim_process(isa);
    auto state = std::make_unique<State>(Backend::cpu, isa, ledger);
    state->vector_targets = hwy::SupportedTargets() & ~targets_beyond(isa);
    state->products = std::make_unique<Products>();
    return Device(std::move(state));
}

Device Device::reference(MemoryLedger* ledger) {
    return Device(std::make_unique<State>(Backend::reference, Isa::sse2, ledger));
}

Device::Device(std::unique_ptr<State> state) : state_(std::move(state)) {}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Backend Device::backend() const {
    return state_->backend;
}

Isa Device::isa() const {
    return state_->isa;
}

void Device::set_profile(Profile* profile) const {
    state_->profile = profile;
}

Profile* Device::profile() const {
    return state_->profile;
}

}  // namespace longhaul::kernels
