// The ceiling that MFU is measured against, and what the process holds.
#pragma once

#include <cstddef>
#include <filesystem>

#include "kernels/device.h"
#include "tensor/dtype.h"

namespace longhaul::train {

// Best matrix-multiply rate in FLOP/s in this precision on this machine with the same threads. Kept in `file`
// and read back where processor, instruction set, threads and precision are the same, so that a resumed run
// compares with the same figure.
double peak_rate(const kernels::Device& device, DType precision, const std::filesystem::path& file);

// Largest resident set of this process so far, in bytes.
std::size_t resident_peak_bytes();

}  // namespace longhaul::train
