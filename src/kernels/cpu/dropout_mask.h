// Which elements a dropout mask keeps, asked in rising order: four in a row share a block of random words.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "kernels/kernels.h"

namespace longhaul::kernels::cpu {

class DropoutMask {
public:
    explicit DropoutMask(const Dropout& mask) : mask_(mask) {}

    // What kept elements are multiplied by.
    [[nodiscard]] float scale() const { return 1.0F / (1.0F - mask_.probability); }

    [[nodiscard]] bool keeps(std::uint64_t number) {
        if (number / 4 != block_) {
            block_ = number / 4;
            words_ = philox(mask_.key, block_, mask_.step);
        }
        return uniform_from(words_[number % 4]) >= mask_.probability;
    }

private:
    const Dropout& mask_;
    std::uint64_t block_ = ~std::uint64_t{0};  // no element is in it
    Philox4 words_{};
};

}  // namespace longhaul::kernels::cpu
