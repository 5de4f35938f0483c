// Training samples as a pure function of their number: fixed windows over packed data, shuffled by a keyed
// bijection and mixed by exact weights, or the rows of a .npy file in order. No index files and no state: the
// number of samples consumed is all that a run has to remember.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace longhaul::data {

// An endless or finite sequence of training samples: random access, no state, safe to read from many threads
// at once.
class SampleSource {
public:
    virtual ~SampleSource() = default;
    // Tokens of sample `index`, the index-th sample that the run consumes (from 0). `out` has
    // sequence_length() + 1 entries: inputs are the first sequence_length(), targets the last
    // sequence_length(). Negative ids (only from .npy files) mark padding: no target. Error bad_data past the
    // end, or for an id that the vocabulary doesn't have.
    virtual void read(std::int64_t index, std::span<std::int32_t> out) const = 0;
    // Number of samples; nothing for an endless source, whose epochs go on.
    [[nodiscard]] virtual std::optional<std::int64_t> size() const = 0;
    [[nodiscard]] virtual std::int64_t sequence_length() const = 0;
    // Identity of everything that decides what read() gives: data, weights, order, seed, sequence length. A
    // run must not resume on another one.
    [[nodiscard]] virtual std::uint64_t fingerprint() const = 0;
    // One line for logs: files, tokens, samples an epoch.
    [[nodiscard]] virtual std::string describe() const = 0;
};

// One packed data set (PREFIX.bin and PREFIX.idx) and its weight: its share of the samples of the blend is
// weight divided by the sum of the weights, whatever the sizes of the data sets. A part that is smaller than
// its share is repeated, each epoch of it in another order.
struct BlendPart {
    std::string prefix;
    double weight = 1.0;
};

enum class SampleOrder { shuffled, sequential };

struct SampleOptions {
    std::int64_t sequence = 0;  // tokens of a sample, not counting the last target
    std::uint64_t seed = 0;
    SampleOrder order = SampleOrder::shuffled;
    std::int64_t vocab = 0;  // ids >= vocab are errors that name file, document and id; 0: unchecked
};

// Endless samples of packed data sets. Errors: bad_config for weights and options, bad_data for files, and
// for a data set that holds less than one window of sequence + 1 tokens.
[[nodiscard]] std::unique_ptr<SampleSource> open_blend(std::span<const BlendPart> parts,
                                                       const SampleOptions& options);

// A little-endian int32 array [step, sequence, sequence length + 1], fed in order: sample = step * sequences
// + sequence. Finite. Error bad_data if the array has another form, bad_config if its sequences a step aren't
// `global_batch` or its sequence length isn't options.sequence. options.order and options.seed don't matter.
[[nodiscard]] std::unique_ptr<SampleSource> open_npy(const std::filesystem::path& path,
                                                     const SampleOptions& options, std::int64_t global_batch);

// For evaluation: one pass over the data sets in order, finite: all windows of one epoch of each part, or
// `max_samples` of them spread evenly (0: no limit). options.order, options.seed and the weights don't
// matter.
[[nodiscard]] std::unique_ptr<SampleSource> open_evaluation(std::span<const BlendPart> parts,
                                                            const SampleOptions& options,
                                                            std::int64_t max_samples);

}  // namespace longhaul::data
