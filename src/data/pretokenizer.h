// The pre-tokenizer of a tokenizer.json: cuts text into the words within which pairs are merged.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/json_fields.h"
#include "data/regex.h"

namespace longhaul::data {

// GPT-2's pattern, which "ByteLevel" stands for.
extern const char* const kGpt2Pattern;
// Llama 3's, which tokenizers trained here may use instead.
extern const char* const kLlama3Pattern;

class PreTokenizer {
public:
    // null, ByteLevel, Split, Metaspace, Digits, and sequences of them. Error bad_data for another.
    explicit PreTokenizer(const Json& definition);

    // Whether words are spelled in the alphabet of bytes.
    [[nodiscard]] bool byte_level() const { return byte_level_; }
    // The mark that stands for a space ("Metaspace"); empty: none.
    [[nodiscard]] const std::string& space_mark() const { return space_mark_; }
    // Whether it may begin text with a space or its mark.
    [[nodiscard]] bool prepends() const { return prepends_; }

    // What a thread needs while it cuts; the words of the last cut live in it and in the text.
    class Scratch {
    public:
        explicit Scratch(const PreTokenizer& owner);

    private:
        friend class PreTokenizer;
        std::vector<Regex::Matcher> matchers_;  // one for each step that has a pattern, in order
        std::vector<std::string_view> words_, next_;
        std::deque<std::string> made_;
    };

    // The words of the text in order. `first`: the text is the beginning of what was given to encode();
    // `continues`: of a longer text, so that nothing is put before it.
    [[nodiscard]] const std::vector<std::string_view>& split(std::string_view text, bool first,
                                                             bool continues, Scratch& scratch) const;

private:
    enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
    struct Split {
        Regex regex;
        Behavior behavior = Behavior::isolated;
        bool invert = false;
    };
    struct PrefixSpace {};
    struct Metaspace {
        enum class Prefix { always, first, never };
        std::string mark;
        Prefix prefix = Prefix::always;
    };
    using Step = std::variant<Split, PrefixSpace, Metaspace>;

    void add_byte_level(const Json& part, const std::string& where);
    void add_split(const Json& part, const std::string& where);
    void add_metaspace(const Json& part, const std::string& where);
    void add_pattern(const std::string& pattern, Behavior behavior, bool invert);
    static Behavior behavior_named(const std::string& name, const std::string& where);
    static void run(const Split& step, Regex::Matcher& matcher, std::string_view text,
                    std::vector<std::string_view>& out);

    std::vector<Step> steps_;
    std::string space_mark_;
    bool byte_level_ = false;
    bool prepends_ = false;
};

}  // namespace longhaul::data
