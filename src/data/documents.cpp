// Readers of plain text and JSONL.
#include "data/documents.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/line_reader.h"

namespace longhaul::data {

namespace {

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_visible(char c) {
    return c > ' ' && c < '\x7f';
}

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

// Without the line break, LF or CR LF.
std::string_view chomp(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

class TextReader final : public DocumentReader {
public:
    TextReader(const std::string& path, Separator separator, std::size_t piece_bytes)
        : lines_(path),
          separator_(std::move(separator)),
          piece_bytes_(std::max<std::size_t>(piece_bytes, 2)) {}

    bool next(Piece& piece) override {
        while (true) {
            if (text_.size() >= piece_bytes_) return cut(piece);
            if (finish_) {
                finish_ = false;
                if (finish(piece)) return true;
                continue;
            }
            LineReader::Fragment fragment;
            if (ended_ || !lines_.next(fragment)) {
                if (ended_) return false;
                ended_ = true;
                return finish(piece);
            }
            if (fragment.begins_line) ++line_;
            take(fragment);
        }
    }

    std::size_t consumed() const override { return lines_.consumed(); }

private:
    void take(const LineReader::Fragment& fragment) {
        const bool whole = fragment.begins_line && fragment.ends_line;
        if ((separator_.kind == Separator::Kind::blank_lines && whole && is_blank(fragment.text)) ||
            (separator_.kind == Separator::Kind::line && whole && chomp(fragment.text) == separator_.text)) {
            finish_ = true;
            return;
        }
        if (text_.empty() && !open_) text_line_ = line_;
        text_ += fragment.text;
        finish_ = separator_.kind == Separator::Kind::lines && fragment.ends_line;
    }

    bool cut(Piece& piece) {
        const std::size_t at = safe_cut(text_);
        fill(piece, text_.substr(0, at), false);
        text_.erase(0, at);
        open_ = true;
        text_line_ = line_;
        return true;
    }

    // False if the document has nothing in it.
    bool finish(Piece& piece) {
        if (separator_.kind != Separator::Kind::none) text_.resize(chomp(text_).size());
        if (text_.empty() && !open_) return false;
        fill(piece, std::move(text_), true);
        text_.clear();
        open_ = false;
        return true;
    }

    void fill(Piece& piece, std::string text, bool ends) const {
        piece = Piece{.text = std::move(text), .line = text_line_, .ends_document = ends, .continues = open_};
    }

    LineReader lines_;
    Separator separator_;
    std::size_t piece_bytes_;
    std::string text_;
    std::int64_t line_ = 0;
    std::int64_t text_line_ = 0;  // where text_ begins, about
    bool open_ = false;           // pieces of the document were given out
    bool finish_ = false;         // the document is complete
    bool ended_ = false;
};

class JsonlReader final : public DocumentReader {
public:
    JsonlReader(const std::string& path, std::size_t max_line_bytes)
        : lines_(path), max_line_bytes_(max_line_bytes) {}

    bool next(Piece& piece) override {
        LineReader::Fragment fragment;
        while (lines_.next(fragment)) {
            if (fragment.begins_line) {
                piece = Piece{.text = {}, .line = ++line_, .json = true};
            }
            if (piece.text.size() + fragment.text.size() > max_line_bytes_) {
                piece.too_long = true;
                piece.text = std::string();
            }
            if (!piece.too_long) piece.text += fragment.text;
            if (fragment.ends_line && (piece.too_long || !is_blank(piece.text))) return true;
        }
        return false;
    }

    std::size_t consumed() const override { return lines_.consumed(); }

private:
    LineReader lines_;
    std::size_t max_line_bytes_;
    std::int64_t line_ = 0;
};

}  // namespace

Separator Separator::parse(const std::string& name) {
    if (name == "none") return {Kind::none, ""};
    if (name == "blank-lines") return {Kind::blank_lines, ""};
    if (name == "lines") return {Kind::lines, ""};
    if (name.starts_with("line=") && name.size() > 5) return {Kind::line, name.substr(5)};
    fail(ErrorCode::bad_config, "document separator \"{}\": there are none, blank-lines, lines and line=TEXT",
         name);
}

bool is_jsonl_name(const std::string& path) {
    std::string_view name = path;
    for (const std::string_view end : {".gz", ".zst", ".dz"}) {
        if (name.ends_with(end)) {
            name.remove_suffix(end.size());
            break;
        }
    }
    return name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".json");
}

std::unique_ptr<DocumentReader> read_text(const std::string& path, const Separator& separator,
                                          std::size_t piece_bytes) {
    return std::make_unique<TextReader>(path, separator, piece_bytes);
}

std::unique_ptr<DocumentReader> read_jsonl(const std::string& path, std::size_t max_line_bytes) {
    return std::make_unique<JsonlReader>(path, max_line_bytes);
}

std::size_t safe_cut(std::string_view text) {
    const std::size_t half = text.size() / 2;
    for (std::size_t i = text.size() - 1; i > half && i >= 2; --i)
        if (text[i - 1] == '\n' && is_letter(text[i]) && is_visible(text[i - 2])) return i;
    for (std::size_t i = text.size() - 2; i > half && i >= 1; --i)
        if (text[i] == ' ' && is_letter(text[i + 1]) && is_letter(text[i - 1])) return i;
    for (std::size_t i = text.size() - 1; i > half && i >= 1; --i)
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return i;
    return std::max<std::size_t>(half, 1);
}

void take_json_text(Piece& piece, const std::string& file, const std::string& key,
                    std::size_t max_line_bytes) {
    try {
        require(!piece.too_long, ErrorCode::bad_data, "a line of more than {} bytes", max_line_bytes);
        piece.text = json_text(piece.text, key);
    } catch (const Error& error) {
        fail(error.code(), "{}:{}: {}", file, piece.line, error.what());
    }
}

std::string json_text(std::string_view line, const std::string& key) {
    nlohmann::json document;
    try {
        document = nlohmann::json::parse(chomp(line));
    } catch (const nlohmann::json::exception& error) {
        // The library's message begins with its own class and error number, and with a line that is always
        // the first.
        std::string_view message = error.what();
        for (const std::string_view begin : {"] ", "parse error at line 1, "}) {
            const std::size_t at = message.find(begin);
            if (at != std::string_view::npos) message.remove_prefix(at + begin.size());
        }
        // It may quote the whole line.
        constexpr std::size_t kShown = 200;
        const std::string_view more = message.size() > kShown ? "..." : "";
        message = message.substr(0, kShown);
        const std::size_t first = line.find_first_not_of(" \t");
        const bool array = first != std::string_view::npos && line[first] == '[';
        fail(ErrorCode::bad_data, "not valid JSON: {}{}{}", message, more,
             array ? " (one object a line is expected, not an array of them)" : "");
    }
    require(document.is_object(), ErrorCode::bad_data,
            "a JSON {} where an object with the key \"{}\" is expected", document.type_name(), key);
    const auto found = document.find(key);
    if (found == document.end()) {
        std::string keys;
        for (const auto& [name, _] : document.items()) {
            if (keys.size() > 80) {
                keys += ", ...";
                break;
            }
            if (!keys.empty()) keys += ", ";
            keys += name;
        }
        fail(ErrorCode::bad_data,
             "the object has no key \"{}\" (it has: {}); name the right one with --json-key", key, keys);
    }
    require(found->is_string(), ErrorCode::bad_data, "\"{}\" is a JSON {}, not a string", key,
            found->type_name());
    return found->get<std::string>();
}

}  // namespace longhaul::data
