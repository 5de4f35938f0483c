// Reading and applying a BPE model.
#include "data/bpe_model.h"

#include "base/error.h"
#include "base/utf8.h"
#include "data/bpe_merge.h"
#include "data/byte_alphabet.h"

namespace longhaul::data {

namespace {

constexpr std::int64_t kLargestId = (std::int64_t{1} << 30U) - 1;

void refuse_text(const Json& model, const char* key) {
    const Json& value = field(model, key);
    require(value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty()),
            ErrorCode::bad_data, "model.{} is set, which is not supported", key);
}

std::size_t merge_count(const Json& model) {
    const Json& merges = field(model, "merges");
    require(merges.is_array(), ErrorCode::bad_data, "model.merges is not a list");
    return merges.size();
}

// "left right" in older files, ["left", "right"] in newer ones.
std::pair<std::string, std::string> halves(const Json& merge, std::size_t index) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
        return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    require(merge.is_string(), ErrorCode::bad_data, "model.merges[{}] is no pair of tokens", index);
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    require(space != std::string::npos && text.find(' ', space + 1) == std::string::npos, ErrorCode::bad_data,
            "model.merges[{}], \"{}\", is not two tokens with a space between", index, text);
    return {text.substr(0, space), text.substr(space + 1)};
}

}  // namespace

BpeModel::BpeModel(const Json& model, bool byte_level)
    : merges_(merge_count(model)), byte_level_(byte_level) {
    const Json& type = field(model, "type");
    require(type.is_null() || type == "BPE", ErrorCode::bad_data,
            "the model is a {}, which is not supported here: only BPE is (a Unigram model can be read from "
            "its tokenizer.model)",
            type.is_string() ? type.get<std::string>() : "thing without a type");
    refuse_text(model, "continuing_subword_prefix");
    refuse_text(model, "end_of_word_suffix");
    const Json& dropout = field(model, "dropout");
    require(dropout.is_null() || dropout == 0.0, ErrorCode::bad_data,
            "model.dropout is set: the same text would not give the same tokens");
    byte_fallback_ = bool_field(model, "byte_fallback", false, "model");
    fuse_unknown_ = bool_field(model, "fuse_unk", false, "model");
    ignore_merges_ = bool_field(model, "ignore_merges", false, "model");
    read_vocabulary(model);
    read_merges(model);
    read_bytes();
    if (!field(model, "unk_token").is_null()) {
        const std::string unknown = string_field(model, "unk_token", "model");
        const auto found = vocabulary_.find(unknown);
        require(found != vocabulary_.end(), ErrorCode::bad_data,
                "model.unk_token \"{}\" is not in the vocabulary", unknown);
        unknown_ = found->second;
    }
}

void BpeModel::read_vocabulary(const Json& model) {
    const Json& vocab = field(model, "vocab");
    require(vocab.is_object(), ErrorCode::bad_data, "model.vocab is not an object");
    vocabulary_.reserve(vocab.size());
    if (ignore_merges_) words_.reserve(vocab.size());
    for (const auto& [spelling, id] : vocab.items()) {
        require(id.is_number_unsigned() && id.get<std::uint64_t>() <= kLargestId, ErrorCode::bad_data,
                "model.vocab: the id of \"{}\" is no whole number from 0 to {}", spelling, kLargestId);
        vocabulary_.emplace(spelling, id.get<TokenId>());
        if (!ignore_merges_) continue;
        auto bytes = byte_level_ ? bytes_of_spelling(spelling) : std::optional(spelling);
        if (bytes) words_.emplace(std::move(*bytes), id.get<TokenId>());
    }
}

TokenId BpeModel::required(const std::string& spelling, std::size_t merge) const {
    const auto found = vocabulary_.find(spelling);
    require(found != vocabulary_.end(), ErrorCode::bad_data,
            "model.merges[{}] needs the token \"{}\", which model.vocab doesn't have", merge, spelling);
    return found->second;
}

void BpeModel::read_merges(const Json& model) {
    const Json& merges = field(model, "merges");
    for (std::size_t i = 0; i < merges.size(); ++i) {
        const auto [left, right] = halves(merges[i], i);
        merges_.insert(required(left, i), required(right, i),
                       {static_cast<std::uint32_t>(i), required(left + right, i)});
    }
}

void BpeModel::read_bytes() {
    for (std::size_t b = 0; b < bytes_.size(); ++b) {
        const auto byte = static_cast<std::uint8_t>(b);
        const auto found = vocabulary_.find(byte_level_ ? spelled_byte(byte) : fmt::format("<0x{:02X}>", b));
        bytes_[b] = found == vocabulary_.end() ? -1 : found->second;
    }
}

void BpeModel::symbols_of_bytes(std::string_view word, std::vector<TokenId>& symbols) const {
    for (const char c : word) {
        const TokenId id = bytes_[static_cast<std::uint8_t>(c)];
        if (id >= 0) {
            symbols.push_back(id);
            continue;
        }
        require(unknown_ >= 0, ErrorCode::bad_data,
                "the vocabulary has no token for the byte 0x{:02X} of the text",
                static_cast<unsigned>(static_cast<std::uint8_t>(c)));
        if (!fuse_unknown_ || symbols.empty() || symbols.back() != unknown_) symbols.push_back(unknown_);
    }
}

void BpeModel::symbols_of_characters(std::string_view word, std::vector<TokenId>& symbols) const {
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t length = std::max<std::size_t>(utf8_length(word, at), 1);
        const std::string_view character = word.substr(at, length);
        at += length;
        if (const auto found = vocabulary_.find(character); found != vocabulary_.end()) {
            symbols.push_back(found->second);
            continue;
        }
        const auto has_byte = [&](char c) { return bytes_[static_cast<std::uint8_t>(c)] >= 0; };
        if (byte_fallback_ && std::all_of(character.begin(), character.end(), has_byte)) {
            for (const char c : character) symbols.push_back(bytes_[static_cast<std::uint8_t>(c)]);
            continue;
        }
        require(unknown_ >= 0, ErrorCode::bad_data,
                "the vocabulary has no token for the character \"{}\", nor for unknown ones", character);
        if (!fuse_unknown_ || symbols.empty() || symbols.back() != unknown_) symbols.push_back(unknown_);
    }
}

void BpeModel::encode(std::string_view word, std::vector<TokenId>& out, std::vector<TokenId>& symbols) const {
    if (ignore_merges_) {
        if (const auto found = words_.find(word); found != words_.end()) {
            out.push_back(found->second);
            return;
        }
    }
    symbols.clear();
    if (byte_level_) {
        symbols_of_bytes(word, symbols);
    } else {
        symbols_of_characters(word, symbols);
    }
    merge_symbols(merges_, symbols);
    out.insert(out.end(), symbols.begin(), symbols.end());
}

}  // namespace longhaul::data
