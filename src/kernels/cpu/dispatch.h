// The form of a Highway kernel that a device may use. Highway's own dispatch knows one choice for the whole
// process; devices of different instruction sets live side by side, so the choice is read from the device.
#pragma once

#include <cstddef>

#include "kernels/cpu/targets.h"

#include <hwy/highway.h>

#include "kernels/state.h"

namespace longhaul::kernels::cpu {

// `table` is HWY_DISPATCH_TABLE(kernel) after HWY_EXPORT(kernel).
template <typename Function, std::size_t kCount>
Function* choose(Function* const (&table)[kCount], const Device& device) {
    hwy::ChosenTarget target;
    target.Update(device.state().vector_targets);
    return table[target.GetIndex()];
}

}  // namespace longhaul::kernels::cpu

// Calls the version of a kernel that HWY_EXPORT listed. A macro, as the table's name is made of the
// function's.
#define LONGHAUL_DISPATCH(device, function) \
    (*::longhaul::kernels::cpu::choose(HWY_DISPATCH_TABLE(function), device))
