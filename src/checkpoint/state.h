// What a checkpoint says besides tensors: where training stands.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace longhaul::checkpoint {

struct TrainingState {
    std::int64_t step = 0;     // steps done, skipped ones included
    std::int64_t updates = 0;  // optimizer updates applied: step without the skipped ones
    std::int64_t samples = 0;  // consumed from the training data
    std::int64_t tokens = 0;
    std::int64_t bad_steps_total = 0;
    std::int64_t bad_steps_in_row = 0;
    std::uint64_t data_fingerprint = 0;
    std::uint64_t tokenizer_fingerprint = 0;
    double best_loss = std::numeric_limits<double>::infinity();  // of the validation data; infinite: none yet
    friend bool operator==(const TrainingState&, const TrainingState&) = default;
};

// Token ids that exported models name.
struct SpecialTokens {
    std::optional<std::int64_t> bos;
    std::vector<std::int64_t> eos;  // some models have several
    friend bool operator==(const SpecialTokens&, const SpecialTokens&) = default;
};

}  // namespace longhaul::checkpoint
