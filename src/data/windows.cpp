// Windows and their order.
#include "data/windows.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "data/permutation.h"

namespace longhaul::data {

Windows::Windows(const std::string& prefix, const SampleOptions& options, std::uint64_t key)
    : dataset_(prefix), options_(options), key_(key) {
    require(options.sequence >= 1, ErrorCode::bad_config, "sequence length {}: it must be at least 1",
            options.sequence);
    const std::int64_t tokens = dataset_.index().tokens();
    require(tokens > options.sequence, ErrorCode::bad_data,
            "{} holds {} tokens, less than the {} of one sample (sequence length {} and the last target): "
            "pack more text or "
            "shorten the sequence",
            dataset_.prefix(), tokens, options.sequence + 1, options.sequence);
    count_ = (tokens - 1) / options.sequence;
}

std::int64_t Windows::window_of(std::int64_t index) const {
    const std::int64_t epoch = index / count_;
    const std::int64_t position = index % count_;
    if (options_.order == SampleOrder::sequential) return position;
    return Permutation(count_, stream_key(key_, "epoch", std::to_string(epoch)))(position);
}

void Windows::read(std::int64_t window, std::span<std::int32_t> out) const {
    const std::int64_t first = window * options_.sequence;
    dataset_.read(first, out);
    const std::int64_t limit = options_.vocab > 0 ? options_.vocab : std::int64_t{1} << 31U;
    const auto bad = std::ranges::find_if(out, [limit](std::int32_t id) { return id < 0 || id >= limit; });
    if (bad == out.end()) return;
    fail(ErrorCode::bad_data,
         "{}: {} is token id {}, but the vocabulary has {}: the data were packed with another tokenizer, or "
         "are damaged",
         dataset_.prefix(), dataset_.locate(first + (bad - out.begin())), *bad, limit);
}

}  // namespace longhaul::data
