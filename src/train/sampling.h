// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <span>

namespace longhaul::train {

struct SamplingOptions {
    double temperature = 1.0;  // 0: the most likely token
    std::int64_t top_k = 0;    // 0: all
    double top_p = 1.0;        // smallest set of most likely tokens whose probability reaches this
    std::uint64_t seed = 0;
};

// The token for the index-th draw: a pure function of logits, options and index. Ties go to the smaller id.
[[nodiscard]] std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                                        std::uint64_t index);

}  // namespace longhaul::train
