// Temperature, then top-k, then top-p, then one uniform number.
#include "train/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace longhaul::train {

std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                          std::uint64_t index) {
    require(!logits.empty(), ErrorCode::internal, "no logits to sample from");
    if (options.temperature <= 0.0) {
        return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
    std::vector<std::int32_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto likelier = [&](std::int32_t a, std::int32_t b) {
        const float la = logits[static_cast<std::size_t>(a)];
        const float lb = logits[static_cast<std::size_t>(b)];
        return la != lb ? la > lb : a < b;
    };
    std::size_t kept = ids.size();
    if (options.top_k > 0) kept = std::min(kept, static_cast<std::size_t>(options.top_k));
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(), likelier);
    ids.resize(kept);

    const double top = logits[static_cast<std::size_t>(ids.front())];
    std::vector<double> weights;
    weights.reserve(ids.size());
    for (const std::int32_t id : ids) {
        weights.push_back(std::exp((static_cast<double>(logits[static_cast<std::size_t>(id)]) - top) /
                                   options.temperature));
    }
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    double sum = 0;
    std::size_t nucleus = 0;
    while (nucleus < weights.size() && (nucleus == 0 || sum < options.top_p * all)) sum += weights[nucleus++];

    const Philox4 words = philox(stream_key(options.seed, "sampling", ""), index, 0);
    double left =
        (static_cast<double>(words[0]) + static_cast<double>(words[1]) * 0x1.0p-32) * 0x1.0p-32 * sum;
    for (std::size_t i = 0; i < nucleus; ++i) {
        left -= weights[i];
        if (left < 0) return ids[i];
    }
    return ids[nucleus - 1];
}

}  // namespace longhaul::train
