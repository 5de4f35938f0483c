// Where kernels run: the processor, the instruction set that is used on it, and the state that kernels keep
// (primitives of the matrix library, scratch memory). Passed to every op; nothing about it is global.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/buffer.h"

namespace longhaul::kernels {

// Instruction sets from least to most, each including the ones before it.
enum class Isa { sse2, avx2, avx512, avx512_bf16, amx };

[[nodiscard]] std::string_view name_of(Isa isa);
// Error bad_config that lists the names for another one.
[[nodiscard]] Isa parse_isa(std::string_view name);
// The best one that this processor and operating system offer.
[[nodiscard]] Isa best_isa();
// All that this processor offers, least first.
[[nodiscard]] std::vector<Isa> available_isas();

// Which implementation an op takes: the processor's best, or the plain loops that are the oracle of the
// tests.
enum class Backend { cpu, reference };

class Profile;

class Device {
public:
    // The best instruction set, or the one that the environment variable LONGHAUL_ISA names: Error bad_config
    // where this processor doesn't have it. `ledger` counts scratch memory and may be null; it must outlive
    // the device. The matrix library fixes its instruction set at the first use in a process: a later device
    // of another one is an Error internal unless it asks for no more than the first.
    static Device cpu(MemoryLedger* ledger = nullptr);
    static Device cpu(Isa isa, MemoryLedger* ledger = nullptr);
    // Plain loops on one thread.
    static Device reference(MemoryLedger* ledger = nullptr);

    ~Device();
    Device(Device&&) noexcept;
    Device& operator=(Device&&) noexcept;

    [[nodiscard]] Backend backend() const;
    [[nodiscard]] Isa isa() const;

    // Where ops add what they cost; null (the default) costs nothing. Must outlive its use here. State as
    // scratch memory is, so a const device takes it.
    void set_profile(Profile* profile) const;
    [[nodiscard]] Profile* profile() const;

    struct State;  // private to kernels/
    [[nodiscard]] State& state() const { return *state_; }

private:
    explicit Device(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace longhaul::kernels
