// Each step cuts (or rewrites) every word that the steps before it left.
#include "data/pretokenizer.h"

#include "base/error.h"
#include "data/text.h"

namespace longhaul::data {

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const char* const kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

PreTokenizer::PreTokenizer(const Json& definition) {
    for_parts(definition, "pretokenizers", "pre_tokenizer",
              [&](const Json& part, const std::string& type, const std::string& where) {
                  require(!byte_level_, ErrorCode::bad_data,
                          "{} follows ByteLevel, which can only be the last", where);
                  if (type == "ByteLevel") {
                      add_byte_level(part, where);
                  } else if (type == "Split") {
                      add_split(part, where);
                  } else if (type == "Metaspace") {
                      add_metaspace(part, where);
                  } else if (type == "Digits") {
                      const bool single = bool_field(part, "individual_digits", false, where);
                      add_pattern(single ? R"(\p{N})" : R"(\p{N}+)", Behavior::isolated, false);
                  } else {
                      fail(ErrorCode::bad_data,
                           "{} is a {}, which is not supported (ByteLevel, Split, Metaspace, Digits and "
                           "Sequence are)",
                           where, type);
                  }
              });
}

void PreTokenizer::add_pattern(const std::string& pattern, Behavior behavior, bool invert) {
    steps_.emplace_back(Split{Regex(pattern), behavior, invert});
}

void PreTokenizer::add_byte_level(const Json& part, const std::string& where) {
    if (bool_field(part, "add_prefix_space", true, where)) {
        steps_.emplace_back(PrefixSpace{});
        prepends_ = true;
    }
    if (bool_field(part, "use_regex", true, where)) add_pattern(kGpt2Pattern, Behavior::isolated, false);
    byte_level_ = true;
}

void PreTokenizer::add_split(const Json& part, const std::string& where) {
    const Behavior behavior = behavior_named(string_field(part, "behavior", where), where);
    add_pattern(pattern_field(part, where), behavior, bool_field(part, "invert", false, where));
}

void PreTokenizer::add_metaspace(const Json& part, const std::string& where) {
    Metaspace step;
    step.mark = string_field(part, "replacement", where);
    require(!step.mark.empty(), ErrorCode::bad_data, "{}.replacement is empty", where);
    if (!bool_field(part, "add_prefix_space", true, where)) step.prefix = Metaspace::Prefix::never;
    if (part.contains("prepend_scheme")) {
        const std::string scheme = string_field(part, "prepend_scheme", where);
        require(scheme == "always" || scheme == "first" || scheme == "never", ErrorCode::bad_data,
                "{}.prepend_scheme \"{}\" is none of always, first, never", where, scheme);
        step.prefix = scheme == "always"  ? Metaspace::Prefix::always
                      : scheme == "first" ? Metaspace::Prefix::first
                                          : Metaspace::Prefix::never;
    }
    space_mark_ = step.mark;
    prepends_ = prepends_ || step.prefix != Metaspace::Prefix::never;
    const std::string pattern = Regex::quoted(step.mark);
    steps_.emplace_back(std::move(step));
    if (bool_field(part, "split", true, where)) add_pattern(pattern, Behavior::merged_with_next, false);
}

PreTokenizer::Behavior PreTokenizer::behavior_named(const std::string& name, const std::string& where) {
    if (name == "Removed") return Behavior::removed;
    if (name == "Isolated") return Behavior::isolated;
    if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
    if (name == "MergedWithNext") return Behavior::merged_with_next;
    if (name == "Contiguous") return Behavior::contiguous;
    fail(ErrorCode::bad_data, "{}.behavior \"{}\" is unknown", where, name);
}

PreTokenizer::Scratch::Scratch(const PreTokenizer& owner) {
    for (const Step& step : owner.steps_) {
        if (const auto* split = std::get_if<Split>(&step)) matchers_.emplace_back(split->regex);
    }
}

void PreTokenizer::run(const Split& step, Regex::Matcher& matcher, std::string_view text,
                       std::vector<std::string_view>& out) {
    const std::size_t before = out.size();
    bool last_matched = false;
    // Whether the pattern's word goes to the end of the word before it.
    const auto joins = [&](bool matched) {
        if (out.size() == before) return false;
        switch (step.behavior) {
            case Behavior::merged_with_previous:
                return matched && !last_matched;
            case Behavior::merged_with_next:
                return !matched && last_matched;
            case Behavior::contiguous:
                return matched == last_matched;
            default:
                return false;
        }
    };
    const auto put = [&](std::size_t begin, std::size_t end, bool found) {
        if (begin == end) return;
        const bool matched = found != step.invert;
        if (step.behavior == Behavior::removed && matched) return;
        if (joins(matched)) {
            out.back() = {out.back().data(), out.back().size() + (end - begin)};
        } else {
            out.push_back(text.substr(begin, end - begin));
        }
        last_matched = matched;
    };
    std::size_t done = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (matcher.find(text, done, begin, end)) {
        put(done, begin, false);
        put(begin, end, true);
        done = end;
    }
    put(done, text.size(), false);
}

const std::vector<std::string_view>& PreTokenizer::split(std::string_view text, bool first, bool continues,
                                                         Scratch& scratch) const {
    scratch.made_.clear();
    scratch.words_.clear();
    if (!text.empty()) scratch.words_.push_back(text);
    auto matcher = scratch.matchers_.begin();
    for (const Step& step : steps_) {
        if (const auto* split = std::get_if<Split>(&step)) {
            scratch.next_.clear();
            for (const std::string_view word : scratch.words_) run(*split, *matcher, word, scratch.next_);
            scratch.words_.swap(scratch.next_);
            ++matcher;
            continue;
        }
        const auto* spaces = std::get_if<Metaspace>(&step);
        for (std::size_t i = 0; i < scratch.words_.size(); ++i) {
            std::string_view& word = scratch.words_[i];
            const bool begins = i > 0 || !continues;
            if (spaces == nullptr) {
                if (begins && !word.starts_with(' '))
                    word = scratch.made_.emplace_back(" " + std::string(word));
                continue;
            }
            std::string marked = replace_all(word, " ", spaces->mark);
            const bool wanted = spaces->prefix == Metaspace::Prefix::always ||
                                (spaces->prefix == Metaspace::Prefix::first && first && i == 0);
            if (wanted && begins && !marked.starts_with(spaces->mark)) marked.insert(0, spaces->mark);
            word = scratch.made_.emplace_back(std::move(marked));
        }
    }
    return scratch.words_;
}

}  // namespace longhaul::data
