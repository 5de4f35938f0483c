// Text after a prompt.
#pragma once

#include <functional>
#include <vector>

#include "model/decoder.h"
#include "train/sampling.h"

namespace longhaul::train {

struct GenerateOptions {
    std::int64_t max_tokens = 128;
    std::int32_t stop = -1;  // token that ends the text (it is not returned); -1: none
    SamplingOptions sampling;
};

// Tokens after `prompt` (at least one token), given to `each` as they come. Where the decoder is full, the
// newer half of the text is read again from position 0, so that text of any length can be made.
std::vector<std::int32_t> generate(model::Decoder& decoder, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<void(std::int32_t)>& each);

}  // namespace longhaul::train
