// The header of NumPy's .npy files (format versions 1 to 3): element type, order and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longhaul::data {

struct NpyHeader {
    std::string descr;  // "<i4": little-endian int32
    bool fortran_order = false;
    std::vector<std::int64_t> shape;
    std::size_t data_offset = 0;  // bytes before the first element
};

// From the bytes of the whole file. Error bad_data naming `name`. Does not look at the elements.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name);

}  // namespace longhaul::data
