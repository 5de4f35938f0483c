// The loop of decoding.
#include "train/generate.h"

#include <algorithm>

#include "base/error.h"

namespace longhaul::train {

namespace {

std::span<const std::int32_t> newest(const std::vector<std::int32_t>& tokens, std::int64_t count) {
    const auto kept = std::min(tokens.size(), static_cast<std::size_t>(count));
    return std::span(tokens).last(kept);
}

}  // namespace

std::vector<std::int32_t> generate(model::Decoder& decoder, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options,
                                   const std::function<void(std::int32_t)>& each) {
    require(!prompt.empty(), ErrorCode::bad_config, "generation needs at least one token of prompt");
    std::vector<std::int32_t> text(prompt.begin(), prompt.end());
    std::vector<std::int32_t> made;
    decoder.reset();
    std::span<const float> logits = decoder.feed(newest(text, decoder.capacity()));
    while (std::ssize(made) < options.max_tokens) {
        const std::int32_t token = sample_token(logits, options.sampling, made.size());
        if (token == options.stop) break;
        made.push_back(token);
        text.push_back(token);
        if (each) each(token);
        if (std::ssize(made) == options.max_tokens) break;
        if (decoder.position() == decoder.capacity()) {
            decoder.reset();
            logits = decoder.feed(newest(text, std::max<std::int64_t>(1, decoder.capacity() / 2)));
        } else {
            logits = decoder.feed(newest(text, 1));
        }
    }
    return made;
}

}  // namespace longhaul::train
