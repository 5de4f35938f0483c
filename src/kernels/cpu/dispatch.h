// Which of a kernel's compiled versions a device takes.
#pragma once

#include <hwy/highway.h>

#include "kernels/state.h"

namespace longhaul::kernels::cpu {

inline std::size_t target_index(const Device& device) {
    hwy::ChosenTarget chosen;
    chosen.Update(device.state().vector_targets);
    return chosen.GetIndex();
}

}  // namespace longhaul::kernels::cpu

// HWY_DYNAMIC_DISPATCH with the device's instruction sets instead of the process's. A macro, as the table's
// name is made of the function's.
#define LONGHAUL_DISPATCH(device, function) \
    (*(HWY_DISPATCH_TABLE(function)[::longhaul::kernels::cpu::target_index(device)]))
