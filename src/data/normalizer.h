// The normalizer of a tokenizer.json: what is done to text before it is cut into words.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/json_fields.h"
#include "data/regex.h"

namespace longhaul::data {

class Normalizer {
public:
    // null, NFC, NFD, NFKC, NFKD, Prepend, Replace, Strip, and sequences of them. Error bad_data for another.
    explicit Normalizer(const Json& definition);

    [[nodiscard]] bool empty() const { return steps_.empty(); }
    // Whether it begins text with a mark of its own (Prepend).
    [[nodiscard]] bool prepends() const;

    // The normalized text: a view of `text` itself where nothing changes, else of `storage`. `continues`: the
    // text goes on in the middle of a longer one, so that nothing is put before it.
    [[nodiscard]] std::string_view apply(std::string_view text, bool continues, std::string& storage) const;

private:
    struct Prepend {
        std::string text;
    };
    // A literal text, as nearly all are: no pattern has to be set up for each call.
    struct ReplaceText {
        std::string what;
        std::string by;
    };
    struct Replace {
        Regex regex;
        std::string by;
    };
    struct Form {
        int options = 0;  // of utf8proc
    };
    struct Strip {
        bool left = true;
        bool right = true;
    };
    using Step = std::variant<Prepend, ReplaceText, Replace, Form, Strip>;

    static void run(const Prepend& step, bool continues, std::string& text);
    static void run(const ReplaceText& step, bool continues, std::string& text);
    static void run(const Replace& step, bool continues, std::string& text);
    static void run(const Form& step, bool continues, std::string& text);
    static void run(const Strip& step, bool continues, std::string& text);

    std::vector<Step> steps_;
};

}  // namespace longhaul::data
