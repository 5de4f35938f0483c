// Matrix products through oneDNN. A product is cut into tiles by its shape alone, and each tile, with a sum
// of very many terms in parts, runs on one thread, so that the result does not depend on the number of
// threads. Primitives are made once for each shape, types and strides, and kept.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/device.h"

namespace longhaul::kernels {

// An operand: element (i, j) stands at data[i * row_step + j * column_step]; one of the steps is 1.
struct Operand {
    const void* data = nullptr;
    DType dtype = DType::f32;
    std::int64_t row_step = 0;
    std::int64_t column_step = 0;
};

// c[m, n] (+)= a[m, k] b[k, n] + bias[n]; sums in fp32.
struct Product {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    Operand a;
    Operand b;
    const float* bias = nullptr;  // optional
    void* c = nullptr;
    DType c_dtype = DType::f32;
    std::int64_t c_step = 0;  // elements between the rows of c
    bool accumulate = false;
};

class Products {
public:
    Products();
    ~Products();
    Products(const Products&) = delete;
    Products& operator=(const Products&) = delete;

    // Sets the most that the library may use in this process; before its first use.
    static void limit_process(Isa isa);

    // m, n and k are positive. Thread-safe.
    void run(const Device& device, const Product& product);

private:
    struct Cache;
    std::unique_ptr<Cache> cache_;
};

}  // namespace longhaul::kernels
