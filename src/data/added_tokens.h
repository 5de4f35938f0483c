// The "added_tokens" of a tokenizer.json: texts that are one token wherever they stand, special tokens among
// them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "data/json_fields.h"
#include "data/tokenizer.h"

namespace longhaul::data {

struct AddedToken {
    std::string text;
    TokenId id = -1;
    bool single_word = false;  // only where no letter or digit touches it
    bool strip_left = false;   // takes the white space before it
    bool strip_right = false;
    bool normalized = true;  // found in normalized text, not in the text as it is
};

// The list, checked. Empty where there is none.
[[nodiscard]] std::vector<AddedToken> read_added_tokens(const Json& tokenizer);

// Finds a set of them: of those that begin at one place the longest.
class AddedTokenFinder {
public:
    explicit AddedTokenFinder(std::vector<AddedToken> tokens);

    struct Part {
        std::string_view text;
        TokenId id = -1;  // -1: text between tokens
    };
    // Cuts the text into tokens and what is between them, in order, without empty parts; appends to `out`.
    void split(std::string_view text, std::vector<Part>& out) const;

private:
    // A trie: the children of a node are siblings in a list.
    struct Node {
        char byte = 0;
        std::int32_t token = -1;    // index in tokens_
        std::int32_t child = -1;    // first
        std::int32_t sibling = -1;  // next
    };
    [[nodiscard]] std::int32_t child_of(std::int32_t node, char byte) const;
    // The token that begins at `at`, null if there is none.
    [[nodiscard]] const AddedToken* longest_at(std::string_view text, std::size_t at) const;

    std::vector<AddedToken> tokens_;
    std::vector<Node> nodes_;
    std::array<std::int32_t, 256> first_{};  // node of a first byte, -1: none
    std::string first_bytes_;
};

}  // namespace longhaul::data
