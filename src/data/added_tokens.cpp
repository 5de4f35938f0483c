// A trie over the tokens' bytes; most text is passed over by its first bytes alone.
#include "data/added_tokens.h"

#include "base/error.h"
#include "base/utf8.h"
#include "data/text.h"

namespace longhaul::data {

namespace {

std::string_view character_at(std::string_view text, std::size_t at) {
    return at < text.size() ? text.substr(at, utf8_length(text, at)) : std::string_view();
}

std::string_view character_before(std::string_view text, std::size_t at) {
    for (std::size_t back = 1; back <= 4 && back <= at; ++back) {
        if (utf8_length(text, at - back) == back) return text.substr(at - back, back);
    }
    return {};
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const Json& tokenizer) {
    std::vector<AddedToken> tokens;
    const Json& list = field(tokenizer, "added_tokens");
    if (list.is_null()) return tokens;
    require(list.is_array(), ErrorCode::bad_data, "added_tokens is not a list");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string where = fmt::format("added_tokens[{}]", i);
        const Json& item = list[i];
        require(item.is_object(), ErrorCode::bad_data, "{} is not an object", where);
        AddedToken token;
        token.text = string_field(item, "content", where);
        const std::int64_t id = int_field(item, "id", -1, where);
        require(id >= 0 && id < std::int64_t{1} << 30U, ErrorCode::bad_data, "{}.id is no token id", where);
        if (token.text.empty()) continue;
        token.id = static_cast<TokenId>(id);
        token.single_word = bool_field(item, "single_word", false, where);
        token.strip_left = bool_field(item, "lstrip", false, where);
        token.strip_right = bool_field(item, "rstrip", false, where);
        token.normalized = bool_field(item, "normalized", !bool_field(item, "special", false, where), where);
        tokens.push_back(std::move(token));
    }
    return tokens;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    first_.fill(-1);
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
        const std::string& text = tokens_[t].text;
        std::int32_t& first = first_[static_cast<std::uint8_t>(text[0])];
        if (first < 0) {
            first = static_cast<std::int32_t>(nodes_.size());
            nodes_.push_back({text[0]});
            first_bytes_ += text[0];
        }
        std::int32_t node = first;
        for (std::size_t i = 1; i < text.size(); ++i) {
            std::int32_t child = child_of(node, text[i]);
            if (child < 0) {
                child = static_cast<std::int32_t>(nodes_.size());
                nodes_.push_back({text[i], -1, -1, nodes_[static_cast<std::size_t>(node)].child});
                nodes_[static_cast<std::size_t>(node)].child = child;
            }
            node = child;
        }
        std::int32_t& end = nodes_[static_cast<std::size_t>(node)].token;
        if (end < 0) end = static_cast<std::int32_t>(t);
    }
}

std::int32_t AddedTokenFinder::child_of(std::int32_t node, char byte) const {
    std::int32_t child = nodes_[static_cast<std::size_t>(node)].child;
    while (child >= 0 && nodes_[static_cast<std::size_t>(child)].byte != byte)
        child = nodes_[static_cast<std::size_t>(child)].sibling;
    return child;
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, std::size_t at) const {
    std::int32_t node = first_[static_cast<std::uint8_t>(text[at])];
    const AddedToken* longest = nullptr;
    while (node >= 0) {
        const std::int32_t token = nodes_[static_cast<std::size_t>(node)].token;
        if (token >= 0) longest = &tokens_[static_cast<std::size_t>(token)];
        if (++at == text.size()) break;
        node = child_of(node, text[at]);
    }
    return longest;
}

void AddedTokenFinder::split(std::string_view text, std::vector<Part>& out) const {
    std::size_t done = 0;  // everything before is in `out`
    std::size_t at = 0;
    while (!first_bytes_.empty()) {
        at = first_bytes_.size() == 1 ? text.find(first_bytes_[0], at) : text.find_first_of(first_bytes_, at);
        if (at == std::string_view::npos) break;
        const AddedToken* token = longest_at(text, at);
        if (token == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + token->text.size();
        at = end;
        if (token->single_word) {
            const std::string_view before = character_before(text, begin);
            const std::string_view behind = character_at(text, end);
            if ((!before.empty() && is_word_character(before)) ||
                (!behind.empty() && is_word_character(behind)))
                continue;
        }
        if (token->strip_left) {
            for (auto c = character_before(text, begin); begin > done && space_length(c, 0) > 0;
                 c = character_before(text, begin))
                begin -= c.size();
        }
        if (token->strip_right) {
            while (const std::size_t space = space_length(text, end)) end += space;
        }
        begin = std::max(begin, done);
        if (begin > done) out.push_back({text.substr(done, begin - done), -1});
        out.push_back({text.substr(begin, end - begin), token->id});
        done = end;
        at = std::max(at, end);
    }
    if (done < text.size()) out.push_back({text.substr(done), -1});
}

}  // namespace longhaul::data
