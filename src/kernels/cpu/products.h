// The matrix library's primitives of one device. A primitive is made once for each shape, types and strides,
// and kept.
#pragma once

#include <memory>

#include "kernels/device.h"

namespace longhaul::kernels {

class Products {
public:
    Products();
    ~Products();
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;

    // Sets the most that the library may use in this process; before its first use.
    static void limit_process(Isa isa);

    struct Cache;
    [[nodiscard]] Cache& cache() const { return *cache_; }

private:
    std::unique_ptr<Cache> cache_;
};

}  // namespace longhaul::kernels
