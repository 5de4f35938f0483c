// Text files cut into documents, and long documents into pieces that can be tokenized apart: what `data pack`
// feeds its workers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/text_input.h"

namespace longhaul::data {

// Where documents of plain text end. Documents without text are left out, a byte-order mark at the beginning
// of a file too.
struct Separator {
    enum class Kind {
        none,         // a file is a document, byte for byte
        blank_lines,  // lines of nothing but white space; the line break before them isn't part of the
                      // document
        lines,        // every line is a document
        line,         // lines that are exactly `text`
    };
    Kind kind = Kind::none;
    std::string text;

    // "none", "blank-lines", "lines", "line=TEXT". Error bad_config for anything else.
    static Separator parse(const std::string& name);
};

struct Piece {
    std::string text;       // of a document; of a JSONL file the raw line
    std::int64_t line = 0;  // where it begins, from 1
    bool json = false;      // `text` is a line that is yet to be parsed; always a whole document
    bool too_long = false;  // a JSONL line beyond the limit, whose text was dropped
    bool ends_document = true;
    bool continues = false;  // goes on where the piece before it ended
};

// The pieces of one file in order.
class DocumentReader {
public:
    virtual ~DocumentReader() = default;
    // False at the end of the file. Error bad_data for a file that can't be read or decompressed.
    [[nodiscard]] virtual bool next(Piece& piece) = 0;
    // Bytes taken from the file so far (compressed ones, if it is).
    [[nodiscard]] virtual std::size_t consumed() const = 0;
};

// Whether a file is taken as JSONL by its name: .jsonl, .ndjson or .json, also with .gz, .zst or .dz after
// it.
[[nodiscard]] bool is_jsonl_name(const std::string& path);

// Plain text. Documents are cut into pieces once they have `piece_bytes`, at places where tokenizers cut too
// (safe_cut).
[[nodiscard]] std::unique_ptr<DocumentReader> read_text(const std::string& path, const Separator& separator,
                                                        std::size_t piece_bytes);
// One JSON object a line; lines of white space are passed over, longer ones than `max_line_bytes` marked
// too_long.
[[nodiscard]] std::unique_ptr<DocumentReader> read_jsonl(const std::string& path, std::size_t max_line_bytes);

// The best place in the second half of `text` (of at least 2 bytes) to tokenize what is before and behind
// apart: after a single line break between visible ASCII text and an ASCII letter; else before a single space
// between ASCII letters. The usual pre-tokenizers split there anyway, so that the tokens are those of the
// whole. In text without such a place it is the last beginning of a UTF-8 character, else the end of the
// half.
[[nodiscard]] std::size_t safe_cut(std::string_view text);

// Puts its text in the place of a JSONL line. Error bad_data that begins with file and line.
void take_json_text(Piece& piece, const std::string& file, const std::string& key,
                    std::size_t max_line_bytes);

// The text of a JSONL line: the string at `key` of the object. Error bad_data with the reason, without the
// place.
[[nodiscard]] std::string json_text(std::string_view line, const std::string& key);

}  // namespace longhaul::data
