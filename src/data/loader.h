// Reads the batches of the next steps on a thread of its own while the current step computes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/samples.h"

namespace longhaul::data {

// Steps of `samples_per_step` consecutive samples, from `first_sample` on. What comes out is the same at
// every depth. What is read ahead counts for nothing: the caller's own number of consumed samples is the
// state to save. Used by one thread.
class Prefetcher {
public:
    // `depth` steps are read ahead; 0 reads in next() itself. The source must outlive the object.
    Prefetcher(const SampleSource& source, std::int64_t first_sample, std::int64_t samples_per_step,
               int depth);
    // At any time: waits for the sample that is being read, no longer.
    ~Prefetcher();
    Prefetcher(const Prefetcher&) = delete;
    Prefetcher& operator=(const Prefetcher&) = delete;

    // Tokens of the next step, [samples_per_step, sequence length + 1]; valid until the next call. An error
    // in reading them (past the end of a finite source, say) comes out of the call that asks for them, and of
    // every call after it.
    [[nodiscard]] const std::vector<std::int32_t>& next();

    // Seconds that the last call of next() and all of them together kept the caller waiting.
    [[nodiscard]] double last_wait_seconds() const { return last_wait_; }
    [[nodiscard]] double total_wait_seconds() const { return total_wait_; }

private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
    std::vector<std::int32_t> current_;
    double last_wait_ = 0;
    double total_wait_ = 0;
};

}  // namespace longhaul::data
