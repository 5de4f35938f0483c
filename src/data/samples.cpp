// Blends of packed data sets for training, and single passes over them for evaluation.
#include "data/samples.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "data/blend.h"
#include "data/windows.h"

namespace longhaul::data {

namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__ needs a typedef

void check_span(std::span<const std::int32_t> out, std::int64_t sequence) {
    require(static_cast<std::int64_t>(out.size()) == sequence + 1, ErrorCode::internal,
            "a sample of {} tokens read into {}", sequence + 1, out.size());
}

std::vector<Windows> open_parts(std::span<const BlendPart> parts, const SampleOptions& options) {
    require(!parts.empty(), ErrorCode::bad_config, "no data set is named");
    std::vector<Windows> windows;
    windows.reserve(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i)
        windows.emplace_back(parts[i].prefix, options, stream_key(options.seed, "order", std::to_string(i)));
    return windows;
}

std::int64_t total_tokens(std::span<const Windows> parts) {
    std::int64_t total = 0;
    for (const Windows& part : parts) total += part.dataset().index().tokens();
    return total;
}

// Mixes numbers into one hash, in order.
std::uint64_t hash_of(std::span<const std::uint64_t> numbers) {
    return hash64(std::as_bytes(numbers));
}

class BlendSource final : public SampleSource {
public:
    BlendSource(std::span<const BlendPart> parts, const SampleOptions& options, std::vector<double> weights)
        : options_(options),
          weights_(std::move(weights)),
          blend_(weights_),
          parts_(open_parts(parts, options)) {}

    void read(std::int64_t index, std::span<std::int32_t> out) const override {
        check_span(out, options_.sequence);
        require(index >= 0, ErrorCode::internal, "sample {}", index);
        const Blend::Place place = blend_(index);
        const Windows& part = parts_[static_cast<std::size_t>(place.part)];
        part.read(part.window_of(place.index), out);
    }

    std::optional<std::int64_t> size() const override { return std::nullopt; }
    std::int64_t sequence_length() const override { return options_.sequence; }

    std::uint64_t fingerprint() const override {
        const bool shuffled = options_.order == SampleOrder::shuffled;
        std::vector<std::uint64_t> numbers{1, static_cast<std::uint64_t>(options_.sequence),
                                           shuffled ? 1U : 0U, shuffled ? options_.seed : 0U};
        numbers.insert(numbers.end(), blend_.shares().begin(), blend_.shares().end());
        for (const Windows& part : parts_) numbers.push_back(part.dataset().fingerprint());
        return hash_of(numbers);
    }

    std::string describe() const override {
        double total = 0;
        for (const double weight : weights_) total += weight;
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const Windows& part = parts_[i];
            const std::string share =
                parts_.size() == 1 ? "" : fmt::format(" {:.4g}% of samples:", 100 * weights_[i] / total);
            texts.push_back(fmt::format("{}{} {} tokens in {} documents, {} samples of {} an epoch",
                                        part.dataset().prefix(), share, part.dataset().index().tokens(),
                                        part.dataset().index().documents(), part.per_epoch(),
                                        options_.sequence));
        }
        return fmt::format("{}, {}", fmt::join(texts, "; "),
                           options_.order == SampleOrder::shuffled ? "shuffled" : "in order");
    }

private:
    SampleOptions options_;
    std::vector<double> weights_;
    Blend blend_;
    std::vector<Windows> parts_;
};

class EvaluationSource final : public SampleSource {
public:
    EvaluationSource(std::span<const BlendPart> parts, const SampleOptions& options, std::int64_t max_samples)
        : options_(options), parts_(open_parts(parts, options)) {
        ends_.reserve(parts_.size());
        for (const Windows& part : parts_) {
            all_ += part.per_epoch();
            ends_.push_back(all_);
        }
        used_ = max_samples > 0 ? std::min(all_, max_samples) : all_;
    }

    void read(std::int64_t index, std::span<std::int32_t> out) const override {
        check_span(out, options_.sequence);
        require(index >= 0 && index < used_, ErrorCode::bad_data, "evaluation sample {} of {}", index, used_);
        // Evenly spread: with all of them used this is the index itself.
        const auto chosen = static_cast<std::int64_t>(static_cast<Wide>(index) * static_cast<Wide>(all_) /
                                                      static_cast<Wide>(used_));
        const auto part = static_cast<std::size_t>(std::ranges::upper_bound(ends_, chosen) - ends_.begin());
        parts_[part].read(chosen - (ends_[part] - parts_[part].per_epoch()), out);
    }

    std::optional<std::int64_t> size() const override { return used_; }
    std::int64_t sequence_length() const override { return options_.sequence; }

    std::uint64_t fingerprint() const override {
        std::vector<std::uint64_t> numbers{2, static_cast<std::uint64_t>(options_.sequence),
                                           static_cast<std::uint64_t>(used_)};
        for (const Windows& part : parts_) numbers.push_back(part.dataset().fingerprint());
        return hash_of(numbers);
    }

    std::string describe() const override {
        std::vector<std::string> names;
        for (const Windows& part : parts_) names.push_back(part.dataset().prefix());
        return fmt::format("{}: {} tokens, {} of {} samples of {}", fmt::join(names, ", "),
                           total_tokens(parts_), used_, all_, options_.sequence);
    }

private:
    SampleOptions options_;
    std::vector<Windows> parts_;
    std::vector<std::int64_t> ends_;  // running sums of per_epoch
    std::int64_t all_ = 0;
    std::int64_t used_ = 0;
};

}  // namespace

std::unique_ptr<SampleSource> open_blend(std::span<const BlendPart> parts, const SampleOptions& options) {
    std::vector<double> weights;
    for (const BlendPart& part : parts) {
        require(std::isfinite(part.weight) && part.weight > 0, ErrorCode::bad_config,
                "weight {} of {}: weights are finite and greater than zero (leave out data without a share)",
                part.weight, part.prefix);
        weights.push_back(part.weight);
    }
    return std::make_unique<BlendSource>(parts, options, std::move(weights));
}

std::unique_ptr<SampleSource> open_evaluation(std::span<const BlendPart> parts, const SampleOptions& options,
                                              std::int64_t max_samples) {
    require(max_samples >= 0, ErrorCode::bad_config, "at most {} samples", max_samples);
    return std::make_unique<EvaluationSource>(parts, options, max_samples);
}

}  // namespace longhaul::data
