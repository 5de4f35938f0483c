// Batches from a .npy file, fed in order: somebody's run repeated exactly.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "data/indexed_dataset.h"
#include "data/npy_header.h"
#include "data/samples.h"

namespace longhaul::data {

namespace {

class NpySource final : public SampleSource {
public:
    NpySource(const std::filesystem::path& path, const SampleOptions& options, std::int64_t global_batch)
        : name_(path.string()), file_(path), vocab_(options.vocab) {
        const NpyHeader header = parse_npy_header(file_.bytes(), name_);
        require(
            header.descr == "<i4", ErrorCode::bad_data,
            "{}: elements of type {}, but batches are little-endian int32 (<i4): convert with .astype('<i4')",
            name_, header.descr);
        require(!header.fortran_order, ErrorCode::bad_data,
                "{}: the array is in Fortran order: save numpy.ascontiguousarray of it", name_);
        require(header.shape.size() == 3, ErrorCode::bad_data,
                "{}: shape ({}), but batches are [step, sequence, sequence length + 1]", name_,
                fmt::join(header.shape, ", "));
        steps_ = header.shape[0];
        sequences_ = header.shape[1];
        row_ = header.shape[2];
        std::size_t bytes = 4;
        for (const std::int64_t size : header.shape)
            require(!__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes),
                    ErrorCode::bad_data, "{}: shape ({}) is larger than any file", name_,
                    fmt::join(header.shape, ", "));
        const std::size_t present = file_.bytes().size() - header.data_offset;
        require(bytes == present, ErrorCode::bad_data,
                "{}: shape ({}) needs {} bytes after the header, there are {}: {}", name_,
                fmt::join(header.shape, ", "), bytes, present,
                present < bytes ? "it is torn" : "it is no plain .npy");
        require(bytes > 0, ErrorCode::bad_data, "{}: shape ({}) holds no tokens", name_,
                fmt::join(header.shape, ", "));
        require(row_ == options.sequence + 1, ErrorCode::bad_config,
                "{}: rows of {} tokens, but sequence length {} needs {}: set model.seq = {}", name_, row_,
                options.sequence, options.sequence + 1, row_ - 1);
        require(sequences_ == global_batch, ErrorCode::bad_config,
                "{}: {} sequences a step, but the global batch is {}: set train.global_batch = {}", name_,
                sequences_, global_batch, sequences_);
        elements_ = file_.bytes().subspan(header.data_offset);
    }

    void read(std::int64_t index, std::span<std::int32_t> out) const override {
        require(static_cast<std::int64_t>(out.size()) == row_, ErrorCode::internal,
                "a row of {} read into {}", row_, out.size());
        const std::int64_t step = index / sequences_;
        require(index >= 0 && step < steps_, ErrorCode::bad_data,
                "{} holds the batches of {} steps, but those of step {} are asked for: set train.steps to at "
                "most {}",
                name_, steps_, step + 1, steps_);
        std::memcpy(out.data(), elements_.data() + static_cast<std::size_t>(index * row_) * 4,
                    out.size_bytes());
        if (vocab_ == 0) return;
        const auto bad = std::ranges::find_if(out, [this](std::int32_t id) { return id >= vocab_; });
        require(bad == out.end(), ErrorCode::bad_data,
                "{}: step {}, sequence {}, position {}: token id {}, but the vocabulary has {}", name_, step,
                index % sequences_, bad - out.begin(), bad == out.end() ? 0 : *bad, vocab_);
    }

    std::optional<std::int64_t> size() const override { return steps_ * sequences_; }
    std::int64_t sequence_length() const override { return row_ - 1; }
    std::uint64_t fingerprint() const override {
        const std::array<std::uint64_t, 2> parts{3, content_fingerprint(file_.bytes())};
        return hash64(std::as_bytes(std::span(parts)));
    }
    std::string describe() const override {
        return fmt::format("{}: {} steps of {} sequences of {} tokens, in order", name_, steps_, sequences_,
                           row_ - 1);
    }

private:
    std::string name_;
    MappedFile file_;
    std::int64_t vocab_;
    std::int64_t steps_ = 0;
    std::int64_t sequences_ = 0;
    std::int64_t row_ = 0;
    std::span<const std::byte> elements_;
};

}  // namespace

std::unique_ptr<SampleSource> open_npy(const std::filesystem::path& path, const SampleOptions& options,
                                       std::int64_t global_batch) {
    return std::make_unique<NpySource>(path, options, global_batch);
}

}  // namespace longhaul::data
