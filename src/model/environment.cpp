// Keys of dropout masks.
#include "model/environment.h"

#include <fmt/format.h>

#include "base/random.h"

namespace longhaul::model {

kernels::Dropout Environment::mask(std::string_view site) const {
    kernels::Dropout dropout;
    if (occasion.dropout == 0.0) return dropout;
    dropout.probability = static_cast<float>(occasion.dropout);
    dropout.key = stream_key(occasion.seed, "dropout", site);
    dropout.step = occasion.step;
    dropout.first_sample = occasion.first_sample;
    return dropout;
}

std::string site_name(std::int64_t block, std::string_view part) {
    return fmt::format("layers.{}.{}", block, part);
}

}  // namespace longhaul::model
