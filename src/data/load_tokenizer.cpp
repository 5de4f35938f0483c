// From a name to a tokenizer: tokenizer.json, sentencepiece models, folders that hold them, raw bytes.
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "data/bpe_tokenizer.h"
#include "data/sentencepiece_tokenizer.h"
#include "data/tokenizer.h"

namespace longhaul::data {

namespace fs = std::filesystem;

namespace {

// 256 byte values, and 256 as the end of a document.
class Bytes final : public Tokenizer {
public:
    [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const override {
        std::vector<TokenId> out;
        out.reserve(text.size());
        for (std::size_t at = 0; at < text.size();) {
            if (text.substr(at).starts_with(kEnd)) {
                out.push_back(kEndId);
                at += kEnd.size();
            } else {
                out.push_back(static_cast<std::uint8_t>(text[at++]));
            }
        }
        return out;
    }
    [[nodiscard]] std::string decode(std::span<const TokenId> ids) const override {
        std::string out;
        for (const TokenId id : ids) {
            require(id >= 0 && id <= kEndId, ErrorCode::bad_data,
                    "the vocabulary has no token with the id {}", id);
            if (id == kEndId) {
                out += kEnd;
            } else {
                out.push_back(static_cast<char>(id));
            }
        }
        return out;
    }
    [[nodiscard]] std::int64_t vocab_size() const override { return kEndId + 1; }
    [[nodiscard]] std::optional<TokenId> end_of_document() const override { return kEndId; }
    [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const override {
        if (token == kEnd) return kEndId;
        if (token.size() == 1) return static_cast<std::uint8_t>(token[0]);
        return std::nullopt;
    }
    [[nodiscard]] std::uint64_t fingerprint() const override { return hash64("bytes"); }
    [[nodiscard]] std::vector<fs::path> files() const override { return {}; }

private:
    static constexpr std::string_view kEnd = "<|endoftext|>";
    static constexpr TokenId kEndId = 256;
};

// The file and those beside it that other programs want with it.
std::vector<fs::path> with_companions(const fs::path& file) {
    std::vector<fs::path> files{file};
    std::error_code error;
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
        const fs::path companion = file.parent_path() / name;
        if (fs::is_regular_file(companion, error)) files.push_back(companion);
    }
    return files;
}

std::unique_ptr<Tokenizer> load_file(const fs::path& file) {
    const std::string content = read_file(file);
    const bool usual_name = file.filename() == "tokenizer.json" || file.filename() == "tokenizer.model";
    std::vector<fs::path> files = usual_name ? with_companions(file) : std::vector{file};
    try {
        // A model is protocol buffers, which begin with a field's number, never with a brace.
        const std::size_t begin = content.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
        if (file.extension() != ".json" && (begin == std::string::npos || content[begin] != '{'))
            return make_sentencepiece(content, std::move(files));
        return std::make_unique<BpeTokenizer>(content, std::move(files));
    } catch (const Error& error) {
        fail(error.code(), "{}: {}", file.string(), error.what());
    }
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& name) {
    if (name == "bytes") return std::make_unique<Bytes>();
    std::error_code error;
    if (fs::is_directory(name, error)) {
        for (const char* file : {"tokenizer.json", "tokenizer.model"}) {
            if (fs::is_regular_file(fs::path(name) / file, error)) return load_file(fs::path(name) / file);
        }
        fail(ErrorCode::bad_config, "the folder {} has neither a tokenizer.json nor a tokenizer.model", name);
    }
    require(fs::exists(name, error), ErrorCode::bad_config,
            "there is no tokenizer {}: name a tokenizer.json, a sentencepiece *.model, a folder with one of "
            "them, or \"bytes\"",
            name);
    return load_file(name);
}

}  // namespace longhaul::data
