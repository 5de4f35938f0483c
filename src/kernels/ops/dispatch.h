// The choice of an implementation: an ordered list, best first, the plain loops last.
#pragma once

#include "kernels/device.h"

namespace longhaul::kernels {

// Each implementation is `bool(const Device&, arguments...)` and returns false, having done nothing, where it
// can't take the call. A reference device goes straight to the last one, which takes every call.
template <auto... kImplementations, typename... Args>
void dispatch(const Device& device, Args&&... args) {
    std::size_t left = sizeof...(kImplementations);
    const bool reference = device.backend() == Backend::reference;
    const auto attempt = [&](auto implementation) {
        return (--left == 0 || !reference) && implementation(device, args...);
    };
    const bool done = (attempt(kImplementations) || ...);
    require(done, ErrorCode::internal, "no implementation takes this call");
}

}  // namespace longhaul::kernels
