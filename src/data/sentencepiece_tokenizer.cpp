// Wraps the sentencepiece library.
#include "data/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/added_tokens.h"

namespace longhaul::data {

namespace {

class SentencePiece final : public Tokenizer {
public:
    SentencePiece(std::string_view model, std::vector<std::filesystem::path> files)
        : fingerprint_(hash64(model)), files_(std::move(files)) {
        const auto status = processor_.LoadFromSerializedProto(model);
        require(status.ok(), ErrorCode::bad_data, "no sentencepiece model: {}", status.ToString());
        std::vector<AddedToken> controls;
        for (int id = 0; id < processor_.GetPieceSize(); ++id) {
            if (!processor_.IsControl(id)) continue;
            AddedToken token;
            token.text = processor_.IdToPiece(id);
            token.id = id;
            if (!token.text.empty()) controls.push_back(std::move(token));
        }
        controls_ = AddedTokenFinder(controls);
    }

    [[nodiscard]] std::vector<TokenId> encode(std::string_view text) const override {
        std::vector<AddedTokenFinder::Part> parts;
        controls_.split(text, parts);
        std::vector<TokenId> out;
        for (const AddedTokenFinder::Part& part : parts) {
            if (part.id >= 0) {
                out.push_back(part.id);
                continue;
            }
            std::vector<int> ids;
            const auto status = processor_.Encode(part.text, &ids);
            require(status.ok(), ErrorCode::bad_data, "sentencepiece: {}", status.ToString());
            out.insert(out.end(), ids.begin(), ids.end());
        }
        return out;
    }

    // The library begins every text with a space of its own, and drops it when it decodes. To put none there,
    // the text is encoded behind a line that is cut off again.
    [[nodiscard]] std::vector<TokenId> encode_rest(std::string_view text) const override {
        std::vector<int> mark;
        if (!processor_.Encode("\n", &mark).ok()) return encode(text);
        std::vector<TokenId> out = encode("\n" + std::string(text));
        const bool apart =
            std::ssize(out) >= std::ssize(mark) && std::equal(mark.begin(), mark.end(), out.begin());
        if (!apart || mark.empty()) return encode(text);
        out.erase(out.begin(), out.begin() + std::ssize(mark));
        return out;
    }

    [[nodiscard]] std::string decode(std::span<const TokenId> ids) const override {
        std::string out;
        std::vector<int> run;
        const auto flush = [&] {
            std::string text;
            const auto status = processor_.Decode(run, &text);
            require(status.ok(), ErrorCode::bad_data, "sentencepiece: {}", status.ToString());
            out += text;
            run.clear();
        };
        for (const TokenId id : ids) {
            require(id >= 0 && id < processor_.GetPieceSize(), ErrorCode::bad_data,
                    "the vocabulary has no token with the id {}", id);
            if (!processor_.IsControl(id)) {
                run.push_back(id);
                continue;
            }
            flush();
            out += processor_.IdToPiece(id);
        }
        flush();
        return out;
    }

    [[nodiscard]] std::int64_t vocab_size() const override { return processor_.GetPieceSize(); }
    [[nodiscard]] std::optional<TokenId> end_of_document() const override {
        const int id = processor_.eos_id();
        return id < 0 ? std::nullopt : std::optional<TokenId>(id);
    }
    [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const override {
        const int id = processor_.PieceToId(token);
        return id >= 0 && processor_.IdToPiece(id) == token ? std::optional<TokenId>(id) : std::nullopt;
    }
    [[nodiscard]] std::uint64_t fingerprint() const override { return fingerprint_; }
    [[nodiscard]] std::vector<std::filesystem::path> files() const override { return files_; }

private:
    sentencepiece::SentencePieceProcessor processor_;
    AddedTokenFinder controls_{std::vector<AddedToken>()};
    std::uint64_t fingerprint_;
    std::vector<std::filesystem::path> files_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece(std::string_view model,
                                              std::vector<std::filesystem::path> files) {
    return std::make_unique<SentencePiece>(model, std::move(files));
}

}  // namespace longhaul::data
