// Text files to a packed data set: documents are read, tokenized by many threads and written in order, in
// bounded memory.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/documents.h"
#include "data/tokenizer.h"

namespace longhaul::data {

struct PackProgress {
    std::uint64_t input_bytes = 0;  // read so far, as they are on disk
    std::uint64_t total_bytes = 0;  // of all inputs; 0 if one of them is a pipe
    std::uint64_t text_bytes = 0;   // tokenized so far
    std::int64_t documents = 0;
    std::int64_t tokens = 0;
};

struct PackOptions {
    std::string prefix;
    std::vector<std::string> inputs;  // "-" is standard input
    bool jsonl = false;               // take all inputs as JSONL, whatever their names
    std::string json_key = "text";
    Separator separator;                     // of plain text
    std::optional<TokenId> end_of_document;  // appended to each document
    bool skip_errors = false;                // leave broken lines out and count them instead of stopping
    // Share of the units that go to PREFIX-validation instead, 0 to 0.5. Units are documents, or the pieces
    // (about 64 KiB) of longer documents of plain text: a piece that is held out ends a document, and another
    // begins behind it.
    double validation_fraction = 0;
    std::string tokenizer_name;                          // for the metadata
    int threads = 0;                                     // tokenizing ones; 0: as many as parallel_for uses
    std::size_t max_line_bytes = std::size_t{1} << 29U;  // of JSONL
    std::size_t piece_bytes = 0;                         // 0: 1 MiB, or 64 KiB with a validation fraction

    // Both are called by the thread that called pack(), about ten times a second.
    std::function<void(const PackProgress&)> progress;
    std::function<bool()> interrupted;
};

struct PackSummary {
    struct Part {
        std::string prefix;
        std::int64_t documents = 0;
        std::int64_t tokens = 0;
        std::int64_t text_bytes = 0;
    };
    std::vector<Part> parts;  // the data set, and the validation set if there is one
    const char* type = "";    // "uint16" or "int32"
    std::uint64_t input_bytes = 0;
    std::int64_t skipped = 0;  // broken lines
    std::int64_t empty = 0;    // documents without a token
    double seconds = 0;
};

// options.interrupted said so: nothing is left of the output.
class Interrupted : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

// Writes PREFIX.bin, .idx and .meta.json (and PREFIX-validation.*), the same bytes for any number of threads.
// All or nothing: an error, an interruption or a kill leaves no index of incomplete data. Errors: bad_config
// for options, bad_data for inputs (the first in the order of the inputs, with file and line) and for outputs
// that can't be written.
PackSummary pack(const Tokenizer& tokenizer, const PackOptions& options);

// Whether unit n is held out: one unit in each interval of 1 / fraction units, at a place that is drawn by n
// alone.
[[nodiscard]] bool is_held_out(std::int64_t n, double fraction);

}  // namespace longhaul::data
