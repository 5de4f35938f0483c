// Fixed-length windows over the concatenated documents of one packed data set, in the order of each epoch.
#pragma once

#include <cstdint>
#include <span>

#include "data/indexed_dataset.h"
#include "data/samples.h"

namespace longhaul::data {

// Window w is the tokens [w * sequence, w * sequence + sequence] of the concatenation: its last token is the
// next one's first, so every token but the very first is a target once an epoch. The tail that doesn't fill a
// window is left out.
class Windows {
public:
    // `key` is the stream of this data set's shuffles. Error bad_data where not even one window can be
    // filled.
    Windows(const std::string& prefix, const SampleOptions& options, std::uint64_t key);

    [[nodiscard]] std::int64_t per_epoch() const { return count_; }
    // The window of the index-th sample over all epochs: in an epoch each window comes up exactly once.
    [[nodiscard]] std::int64_t window_of(std::int64_t index) const;
    // Its sequence + 1 tokens. Error bad_data naming file, document and id for ids that the vocabulary
    // doesn't have.
    void read(std::int64_t window, std::span<std::int32_t> out) const;
    [[nodiscard]] const IndexedDataset& dataset() const { return dataset_; }

private:
    IndexedDataset dataset_;
    SampleOptions options_;
    std::uint64_t key_;
    std::int64_t count_;
};

}  // namespace longhaul::data
