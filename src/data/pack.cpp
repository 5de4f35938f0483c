// The writing side of `data pack`: documents in order into the data set and the held-out one.
#include "data/pack.h"

#include <cmath>
#include <deque>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "data/dataset_meta.h"
#include "data/indexed_writer.h"
#include "data/pack_pipeline.h"

namespace longhaul::data {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::size_t kUnitBytes = std::size_t{1} << 16U;
constexpr std::int64_t kSkippedShown = 5;

// One output data set and the document that is open in it.
class Output {
public:
    Output(const std::string& prefix, TokenType type) : prefix_(prefix), writer_(prefix, type) {}

    void append(const EncodedPiece& piece) {
        writer_.append(piece.tokens);
        text_bytes_ += piece.text_bytes;
        open_ = open_ || !piece.tokens.empty();
    }
    // False if the document had no token and so is none.
    bool end_document(std::optional<TokenId> end) {
        if (!open_) return false;
        if (end) writer_.append(std::span(&*end, 1));
        writer_.end_document();
        open_ = false;
        return true;
    }
    [[nodiscard]] bool open() const { return open_; }
    [[nodiscard]] PackSummary::Part summary() const {
        return {prefix_, writer_.documents(), writer_.tokens(), text_bytes_};
    }
    IndexedWriter& writer() { return writer_; }

private:
    std::string prefix_;
    IndexedWriter writer_;
    std::int64_t text_bytes_ = 0;
    bool open_ = false;
};

std::uint64_t size_of_inputs(const std::vector<std::string>& inputs) {
    std::uint64_t total = 0;
    for (const std::string& input : inputs) {
        if (input == "-") return 0;
        std::error_code error;
        require(!std::filesystem::is_directory(input, error), ErrorCode::bad_data,
                "{} is a folder: name the files in it", input);
        const auto size = std::filesystem::file_size(input, error);
        if (error) return 0;  // a pipe, or nothing: opening it tells
        if (size == 0) log_warning(input + " is empty");
        total += size;
    }
    return total;
}

// What kill -9 leaves. Not removed: another machine may be writing it.
void warn_of_leftovers(const std::string& prefix) {
    const std::filesystem::path path(prefix);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const std::string name_begin = fmt::format(".{}", path.filename().string());
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(name_begin + ".bin.tmp.") ||
            name.starts_with(name_begin + "-validation.bin.tmp."))
            log_warning(
                fmt::format("{} is left of a run that was killed, if none is writing it now: delete it",
                            entry.path().string()));
    }
}

void check_options(const PackOptions& options) {
    require(!options.inputs.empty(), ErrorCode::bad_config, "no input files");
    require(options.validation_fraction >= 0 && options.validation_fraction <= 0.5, ErrorCode::bad_config,
            "validation fraction {}: it is between 0 and 0.5", options.validation_fraction);
    require(!options.prefix.empty() && !options.prefix.ends_with('/'), ErrorCode::bad_config,
            "output prefix \"{}\": name the data set, such as data/wiki", options.prefix);
}

class Packer {
public:
    Packer(const Tokenizer& tokenizer, const PackOptions& options)
        : tokenizer_(tokenizer), options_(options), type_(token_type_for(tokenizer.vocab_size())) {
        const std::filesystem::path folder = std::filesystem::path(options.prefix).parent_path();
        std::error_code error;
        if (!folder.empty()) std::filesystem::create_directories(folder, error);
        require(!error, ErrorCode::bad_data, "cannot make the folder {}: {}", folder.string(),
                error.message());
        warn_of_leftovers(options.prefix);
        outputs_.emplace_back(options.prefix, type_);
        if (options.validation_fraction > 0) outputs_.emplace_back(options.prefix + "-validation", type_);
        progress_.total_bytes = size_of_inputs(options.inputs);
    }

    PackSummary run() {
        const Stopwatch watch;
        Stopwatch since_report;
        {
            PackPipeline pipeline(tokenizer_, options_);
            EncodedBatch batch;
            for (auto state = pipeline.next(batch); state != PackPipeline::State::end;
                 state = pipeline.next(batch)) {
                if (state == PackPipeline::State::batch) take(batch);
                progress_.input_bytes = pipeline.input_bytes();
                if (since_report.seconds() >= 0.1) {
                    since_report.restart();
                    report();
                }
            }
            progress_.input_bytes = pipeline.input_bytes();
        }
        report();
        commit();
        summary_.seconds = watch.seconds();
        return summary_;
    }

private:
    void report() {
        if (options_.interrupted && options_.interrupted()) {
            outputs_.clear();
            throw Interrupted();
        }
        if (options_.progress) options_.progress(progress_);
    }

    void take(EncodedBatch& batch) {
        for (const EncodedPiece& piece : batch.pieces) {
            if (piece.error.empty()) {
                take(piece);
            } else {
                skip(piece.error);
            }
        }
        if (batch.failure) std::rethrow_exception(batch.failure);
    }

    void take(const EncodedPiece& piece) {
        const std::size_t to =
            outputs_.size() > 1 && is_held_out(units_, options_.validation_fraction) ? 1 : 0;
        ++units_;
        // A document that goes on in the other set is ended in this one.
        if (outputs_.size() > 1 && outputs_[1 - to].open()) end_document(1 - to);
        outputs_[to].append(piece);
        if (piece.ends_document && !end_document(to)) ++summary_.empty;
        progress_.tokens += static_cast<std::int64_t>(piece.tokens.size());
        progress_.text_bytes += static_cast<std::uint64_t>(piece.text_bytes);
    }

    bool end_document(std::size_t output) {
        if (!outputs_[output].end_document(options_.end_of_document)) return false;
        ++progress_.documents;
        return true;
    }

    void skip(const std::string& error) {
        require(options_.skip_errors, ErrorCode::bad_data, "{} (--on-error skip leaves such lines out)",
                error);
        if (++summary_.skipped <= kSkippedShown) log_warning("left out: " + error);
    }

    void commit() {
        if (summary_.skipped > kSkippedShown)
            log_warning(fmt::format("left out: {} more lines", summary_.skipped - kSkippedShown));
        require(
            outputs_[0].summary().documents > 0, ErrorCode::bad_data,
            "there is no text in the input{}: nothing was written",
            summary_.skipped > 0 ? fmt::format(" ({} broken lines were left out)", summary_.skipped) : "");
        require(outputs_.size() == 1 || outputs_[1].summary().documents > 0, ErrorCode::bad_data,
                "{} documents are too few to hold out {} of them: raise --validation-fraction, or cut the "
                "text into documents "
                "with --document-separator",
                outputs_[0].summary().documents, options_.validation_fraction);
        for (Output& output : outputs_) output.writer().commit_tokens();
        for (std::size_t i = 0; i < outputs_.size(); ++i) write_meta(i);
        // The index of the main set is the last file of all to appear.
        for (std::size_t i = outputs_.size(); i-- > 0;) outputs_[i].writer().commit_index();
        for (const Output& output : outputs_) summary_.parts.push_back(output.summary());
        summary_.type = token_type_name(type_);
        summary_.input_bytes = progress_.input_bytes;
    }

    void write_meta(std::size_t output) const {
        const PackSummary::Part part = outputs_[output].summary();
        DatasetMeta meta;
        meta.tokenizer = options_.tokenizer_name;
        meta.tokenizer_fingerprint = tokenizer_.fingerprint();
        meta.vocab = tokenizer_.vocab_size();
        if (options_.end_of_document) meta.end_of_document = *options_.end_of_document;
        meta.role = outputs_.size() == 1 ? "all" : output == 0 ? "train" : "validation";
        meta.documents = part.documents;
        meta.tokens = part.tokens;
        meta.text_bytes = part.text_bytes;
        meta.sources = options_.inputs;
        write_file_atomic(part.prefix + ".meta.json", to_json(meta));
    }

    const Tokenizer& tokenizer_;
    PackOptions options_;
    TokenType type_;
    std::deque<Output> outputs_;
    PackProgress progress_;
    PackSummary summary_;
    std::int64_t units_ = 0;
};

}  // namespace

bool is_held_out(std::int64_t n, double fraction) {
    const auto begin = [fraction](std::int64_t k) {
        return static_cast<std::int64_t>(std::ceil(static_cast<double>(k) / fraction));
    };
    auto k = static_cast<std::int64_t>(static_cast<double>(n) * fraction);
    // Rounding may be off by one.
    while (begin(k) > n) --k;
    while (begin(k + 1) <= n) ++k;
    const std::uint64_t key = stream_key(0, "validation", "");
    const float drawn = uniform_from(philox(key, static_cast<std::uint64_t>(k), 0)[0]);
    const std::int64_t length = begin(k + 1) - begin(k);
    return n ==
           begin(k) + static_cast<std::int64_t>(static_cast<double>(drawn) * static_cast<double>(length));
}

PackSummary pack(const Tokenizer& tokenizer, const PackOptions& options) {
    check_options(options);
    PackOptions resolved = options;
    if (resolved.piece_bytes == 0)
        resolved.piece_bytes = options.validation_fraction > 0 ? kUnitBytes : kPieceBytes;
    return Packer(tokenizer, resolved).run();
}

}  // namespace longhaul::data
