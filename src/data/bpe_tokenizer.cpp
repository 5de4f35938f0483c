// The pipeline from text to ids.
#include "data/bpe_tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace longhaul::data {

namespace {

Json parsed(std::string_view text) {
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::exception& error) {
        fail(ErrorCode::bad_data, "not JSON: {}", error.what());
    }
    require(json.is_object() && json.contains("model") && json["model"].is_object(), ErrorCode::bad_data,
            "no tokenizer.json: it has no \"model\"");
    return json;
}

}  // namespace

BpeTokenizer::BpeTokenizer(std::string_view json_text, std::vector<std::filesystem::path> files)
    : BpeTokenizer(parsed(json_text), hash64(json_text), std::move(files)) {}

BpeTokenizer::BpeTokenizer(const Json& json, std::uint64_t fingerprint,
                           std::vector<std::filesystem::path> files)
    : fingerprint_(fingerprint),
      files_(std::move(files)),
      added_(read_added_tokens(json)),
      normalizer_(field(json, "normalizer")),
      pretokenizer_(field(json, "pre_tokenizer")),
      model_(field(json, "model"), pretokenizer_.byte_level()),
      texts_(field(json, "decoder"), pretokenizer_, model_.vocabulary(), added_),
      raw_finder_(found_in_normalized(false)),
      normalized_finder_(found_in_normalized(true)) {}

std::vector<AddedToken> BpeTokenizer::found_in_normalized(bool normalized) const {
    std::vector<AddedToken> tokens;
    std::string storage;
    for (AddedToken token : added_) {
        if (token.normalized != normalized) continue;
        if (normalized) token.text = std::string(normalizer_.apply(token.text, false, storage));
        if (!token.text.empty()) tokens.push_back(std::move(token));
    }
    return tokens;
}

std::unique_ptr<BpeTokenizer::Workspace> BpeTokenizer::borrow() const {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto workspace = std::move(idle_.back());
            idle_.pop_back();
            return workspace;
        }
    }
    return std::make_unique<Workspace>(pretokenizer_);
}

void BpeTokenizer::give_back(std::unique_ptr<Workspace> workspace) const {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
}

void BpeTokenizer::encode_word(std::string_view word, Workspace& work, std::vector<TokenId>& out) const {
    const std::uint64_t hash = hash64(word);
    if (const auto known = work.words.find(word, hash); !known.empty()) {
        out.insert(out.end(), known.begin(), known.end());
        return;
    }
    work.ids.clear();
    model_.encode(word, work.ids, work.symbols);
    work.words.insert(word, hash, work.ids);
    out.insert(out.end(), work.ids.begin(), work.ids.end());
}

void BpeTokenizer::encode_text(std::string_view text, bool first, bool continues, Workspace& work,
                               std::vector<TokenId>& out) const {
    for (const std::string_view word : pretokenizer_.split(text, first, continues, work.scratch))
        encode_word(word, work, out);
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, bool continues) const {
    std::vector<TokenId> out;
    if (text.empty()) return out;
    out.reserve(text.size() / 3);
    auto work = borrow();
    work->raw_parts.clear();
    raw_finder_.split(text, work->raw_parts);
    bool first = true;
    for (const AddedTokenFinder::Part& raw : work->raw_parts) {
        if (raw.id >= 0) {
            out.push_back(raw.id);
            first = false;
            continue;
        }
        work->parts.clear();
        normalized_finder_.split(normalizer_.apply(raw.text, continues && first, work->normalized),
                                 work->parts);
        for (const AddedTokenFinder::Part& part : work->parts) {
            if (part.id >= 0) {
                out.push_back(part.id);
            } else {
                encode_text(part.text, first, continues && first, *work, out);
            }
            first = false;
        }
    }
    give_back(std::move(work));
    return out;
}

std::optional<TokenId> BpeTokenizer::id_of(std::string_view token) const {
    for (const AddedToken& added : added_) {
        if (added.text == token) return added.id;
    }
    const auto found = model_.vocabulary().find(token);
    return found == model_.vocabulary().end() ? std::nullopt : std::optional(found->second);
}

std::optional<TokenId> BpeTokenizer::end_of_document() const {
    return usual_end_of_document(*this);
}

std::optional<TokenId> usual_end_of_document(const Tokenizer& tokenizer) {
    for (const char* name :
         {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eot_id|>", "<|im_end|>", "[EOS]"}) {
        if (const auto id = tokenizer.id_of(name)) return id;
    }
    return std::nullopt;
}

}  // namespace longhaul::data
