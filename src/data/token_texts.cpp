// The decoder's steps, applied to each token of the vocabulary when it is loaded.
#include "data/token_texts.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/error.h"
#include "data/byte_alphabet.h"
#include "data/text.h"

namespace longhaul::data {

namespace {

using Step = std::function<std::string(const std::string&)>;

struct Steps {
    std::vector<Step> each;
    std::string leading;
    std::size_t leading_count = 0;
    bool fused = false;
};

std::string bytes_or_self(const std::string& spelling) {
    return bytes_of_spelling(spelling).value_or(spelling);
}

// <0x0A> is the byte.
std::string byte_of_fallback(const std::string& text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return text;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
    if (error != std::errc() || end != text.data() + 5) return text;
    return {static_cast<char>(value)};
}

void add_metaspace(Steps& steps, const std::string& mark, bool prefixed) {
    steps.each.emplace_back([mark](const std::string& text) { return replace_all(text, mark, " "); });
    if (prefixed) {
        steps.leading = " ";
        steps.leading_count = 1;
    }
}

void add_strip(Steps& steps, const Json& part, const std::string& where) {
    require(steps.fused && int_field(part, "stop", 0, where) == 0, ErrorCode::bad_data,
            "{} strips text that is not at the very front, which is not supported", where);
    const std::int64_t start = int_field(part, "start", 0, where);
    require(start >= 0 && start < 1000, ErrorCode::bad_data, "{}.start is no count", where);
    steps.leading = string_field(part, "content", where);
    steps.leading_count = steps.leading.empty() ? 0 : static_cast<std::size_t>(start);
}

void add_part(Steps& steps, const Json& part, const std::string& type, const std::string& where) {
    if (type == "ByteLevel") {
        steps.each.emplace_back(bytes_or_self);
    } else if (type == "Replace") {
        const std::string what = literal_pattern(part, where);
        require(!what.empty(), ErrorCode::bad_data, "{}.pattern is empty", where);
        steps.each.emplace_back([what, by = string_field(part, "content", where)](const std::string& text) {
            return replace_all(text, what, by);
        });
    } else if (type == "ByteFallback") {
        steps.each.emplace_back(byte_of_fallback);
    } else if (type == "Fuse") {
        steps.fused = true;
    } else if (type == "Strip") {
        add_strip(steps, part, where);
    } else if (type == "Metaspace") {
        const std::string mark = string_field(part, "replacement", where);
        require(!mark.empty(), ErrorCode::bad_data, "{}.replacement is empty", where);
        const bool never = field(part, "prepend_scheme") == "never";
        add_metaspace(steps, mark, !never && bool_field(part, "add_prefix_space", true, where));
    } else {
        fail(ErrorCode::bad_data,
             "{} is a {}, which is not supported (ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip "
             "and Sequence are)",
             where, type);
    }
}

}  // namespace

TokenTexts::TokenTexts(const Json& decoder, const PreTokenizer& pretokenizer, const Vocabulary& vocabulary,
                       const std::vector<AddedToken>& added) {
    Steps steps;
    for_parts(decoder, "decoders", "decoder",
              [&](const Json& part, const std::string& type, const std::string& where) {
                  add_part(steps, part, type, where);
              });
    if (decoder.is_null() && pretokenizer.byte_level()) steps.each.emplace_back(bytes_or_self);
    if (decoder.is_null() && !pretokenizer.space_mark().empty())
        add_metaspace(steps, pretokenizer.space_mark(), pretokenizer.prepends());

    TokenId largest = -1;
    for (const auto& [spelling, id] : vocabulary) largest = std::max(largest, id);
    for (const AddedToken& token : added) largest = std::max(largest, token.id);
    const std::int64_t count = std::ssize(vocabulary) + std::ssize(added);
    require(count > 0, ErrorCode::bad_data, "the vocabulary is empty");
    require(largest < 4 * count + (1 << 16), ErrorCode::bad_data,
            "{} tokens have ids up to {}: that is no vocabulary", count, largest);
    texts_.resize(static_cast<std::size_t>(largest) + 1);
    for (const auto& [spelling, id] : vocabulary) {
        std::string text = spelling;
        for (const Step& step : steps.each) text = step(text);
        texts_[static_cast<std::size_t>(id)] = std::move(text);
    }
    for (const AddedToken& token : added) texts_[static_cast<std::size_t>(token.id)] = token.text;
    leading_ = steps.leading;
    leading_count_ = steps.leading_count;
}

std::string TokenTexts::decode(std::span<const TokenId> ids) const {
    std::string out;
    for (const TokenId id : ids) {
        const auto index = static_cast<std::size_t>(id);
        require(id >= 0 && index < texts_.size() && texts_[index].has_value(), ErrorCode::bad_data,
                "the vocabulary has no token with the id {}", id);
        out += *texts_[index];
    }
    std::size_t begin = 0;
    for (std::size_t n = 0; n < leading_count_ && std::string_view(out).substr(begin).starts_with(leading_);
         ++n)
        begin += leading_.size();
    return begin == 0 ? out : out.substr(begin);
}

}  // namespace longhaul::data
