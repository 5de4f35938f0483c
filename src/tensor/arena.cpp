// Bump allocation with alignment and a high-water mark.
#include "tensor/arena.h"

#include <algorithm>

#include "base/checked.h"

namespace longhaul {

Arena::Arena(std::string name, std::size_t capacity, MemoryLedger* ledger)
    : name_(std::move(name)), buffer_(capacity, name_, ledger), capacity_(capacity) {}

TensorView Arena::take(const char* tensor, DType dtype, Shape shape) {
    const auto bytes = round_up<std::size_t>(static_cast<std::size_t>(shape.count()) * size_of(dtype), 64);
    const std::size_t start = used_;
    require(planning() || bytes <= capacity_ - start, ErrorCode::internal,
            "arena {}: {} {} {} needs {} bytes, {} of {} are taken", name_, tensor, name_of(dtype),
            shape.text(), bytes, start, capacity_);
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    if (planning()) return {nullptr, dtype, shape};
    return {buffer_.data() + start, dtype, shape};
}

}  // namespace longhaul
