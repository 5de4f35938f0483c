// The library's set of instructions; the cache of primitives.
#include "kernels/cpu/products.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace longhaul::kernels {

struct Products::Cache {};

Products::Products() : cache_(std::make_unique<Cache>()) {}
Products::~Products() = default;

void Products::limit_process(Isa isa) {
    const auto limit = [&] {
        switch (isa) {
            case Isa::sse2:
                return dnnl::cpu_isa::sse41;
            case Isa::avx2:
                return dnnl::cpu_isa::avx2;
            case Isa::avx512:
                return dnnl::cpu_isa::avx512_core;
            case Isa::avx512_bf16:
                return dnnl::cpu_isa::avx512_core_bf16;
            case Isa::amx:
                break;
        }
        return dnnl::cpu_isa::all;
    }();
    const dnnl::status status = dnnl::set_max_cpu_isa(limit);
    require(status == dnnl::status::success, ErrorCode::internal,
            "the matrix library was used before the first device was made, so it can't be limited to {}",
            name_of(isa));
}

}  // namespace longhaul::kernels
