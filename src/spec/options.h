// The list of all configuration options, one row each: name, where it is stored, range, one line of help.
// Reading, writing, `--help-config` and docs/configuration.md come from this list; a test pins it, so that a
// new option is a decision.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/run.h"

namespace longhaul::spec {

struct IntegerOption {
    std::int64_t* value;
    std::int64_t least;
    std::int64_t most;
};
struct RealOption {
    double* value;
    double least;
    double most;
};
struct BoolOption {
    bool* value;
};
struct TextOption {
    std::string* value;
};
// One of `names`; get and set by position.
struct ChoiceOption {
    std::vector<std::string_view> names;
    std::function<std::size_t()> get;
    std::function<void(std::size_t)> set;
};
// A prefix, a list of prefixes, or a list of { prefix, weight }.
struct BlendOption {
    std::vector<WeightedPrefix>* value;
};
// Two reals: [b1, b2].
struct PairOption {
    double* first;
    double* second;
    double least;
    double most;
};

struct Option {
    std::string_view section;
    std::string_view key;
    std::variant<IntegerOption, RealOption, BoolOption, TextOption, ChoiceOption, BlendOption, PairOption>
        target;
    std::string_view help;
};

// The options, bound to the fields of `run`, which must outlive them.
[[nodiscard]] std::vector<Option> options(Run& run);

// "integer, 1 to 1000", "one of none, selective, full": what a value may be.
[[nodiscard]] std::string domain_text(const Option& option);
// The bound value as TOML.
[[nodiscard]] std::string value_text(const Option& option);

// All options in Markdown, with defaults: docs/configuration.md.
[[nodiscard]] std::string options_markdown();

}  // namespace longhaul::spec
