// The pool of scratch blocks: the smallest free one that fits, else the largest is replaced by one that does.
#include <algorithm>

#include "base/checked.h"
#include "kernels/state.h"

namespace longhaul::kernels {

Buffer ScratchPool::take(std::size_t bytes) {
    Buffer chosen;
    {
        const std::lock_guard lock(mutex_);
        // Sorted by size.
        auto fits =
            std::find_if(free_.begin(), free_.end(), [&](const Buffer& b) { return b.bytes() >= bytes; });
        if (fits == free_.end() && !free_.empty()) --fits;
        if (fits != free_.end()) {
            chosen = std::move(*fits);
            free_.erase(fits);
        }
    }
    if (chosen.data() == nullptr || chosen.bytes() < bytes) {
        chosen = Buffer();
        chosen =
            Buffer(round_up<std::size_t>(std::max(bytes, kLeastScratch), 4096), "kernel scratch", ledger_);
    }
    return chosen;
}

void ScratchPool::give_back(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    const auto place = std::find_if(free_.begin(), free_.end(),
                                    [&](const Buffer& b) { return b.bytes() >= buffer.bytes(); });
    free_.insert(place, std::move(buffer));
}

}  // namespace longhaul::kernels
