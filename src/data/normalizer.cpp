// Normal forms through utf8proc; bytes that are no UTF-8 pass through all steps as they are.
#include "data/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/utf8.h"
#include "data/text.h"

namespace longhaul::data {

namespace {

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void append_form(std::string_view valid, int options, std::string& out) {
    if (valid.empty()) return;
    utf8proc_uint8_t* raw = nullptr;
    const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()),
                                   static_cast<utf8proc_ssize_t>(valid.size()), &raw,
                                   static_cast<utf8proc_option_t>(options));
    require(size >= 0, ErrorCode::bad_data, "Unicode normalization: {}", utf8proc_errmsg(size));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(raw, &std::free);
    out.append(reinterpret_cast<const char*>(raw), static_cast<std::size_t>(size));
}

}  // namespace

Normalizer::Normalizer(const Json& definition) {
    for_parts(definition, "normalizers", "normalizer",
              [&](const Json& part, const std::string& type, const std::string& where) {
                  if (type == "NFC") {
                      steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_COMPOSE});
                  } else if (type == "NFD") {
                      steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_DECOMPOSE});
                  } else if (type == "NFKC") {
                      steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT});
                  } else if (type == "NFKD") {
                      steps_.emplace_back(Form{UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT});
                  } else if (type == "Prepend") {
                      steps_.emplace_back(Prepend{string_field(part, "prepend", where)});
                  } else if (type == "Replace" && has_literal_pattern(part)) {
                      steps_.emplace_back(
                          ReplaceText{literal_pattern(part, where), string_field(part, "content", where)});
                  } else if (type == "Replace") {
                      steps_.emplace_back(
                          Replace{Regex(pattern_field(part, where)), string_field(part, "content", where)});
                  } else if (type == "Strip") {
                      steps_.emplace_back(Strip{bool_field(part, "strip_left", true, where),
                                                bool_field(part, "strip_right", true, where)});
                  } else {
                      fail(ErrorCode::bad_data,
                           "{} is a {}, which is not supported (NFC, NFD, NFKC, NFKD, Prepend, Replace, "
                           "Strip and Sequence are)",
                           where, type);
                  }
              });
}

bool Normalizer::prepends() const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const Step& s) { return std::holds_alternative<Prepend>(s); });
}

std::string_view Normalizer::apply(std::string_view text, bool continues, std::string& storage) const {
    if (steps_.empty()) return text;
    storage.assign(text);
    for (const Step& step : steps_) std::visit([&](const auto& s) { run(s, continues, storage); }, step);
    return storage;
}

void Normalizer::run(const Prepend& step, bool continues, std::string& text) {
    if (!text.empty() && !continues) text.insert(0, step.text);
}

void Normalizer::run(const ReplaceText& step, bool /*continues*/, std::string& text) {
    text = replace_all(text, step.what, step.by);
}

void Normalizer::run(const Replace& step, bool /*continues*/, std::string& text) {
    Regex::Matcher matcher(step.regex);
    std::string out;
    std::size_t done = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (matcher.find(text, done, begin, end)) {
        out.append(text, done, begin - done);
        out += step.by;
        done = end;
    }
    if (done == 0) return;
    out.append(text, done);
    text = std::move(out);
}

void Normalizer::run(const Form& step, bool /*continues*/, std::string& text) {
    if (is_ascii(text)) return;
    std::string out;
    std::size_t valid_from = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            append_form(std::string_view(text).substr(valid_from, at - valid_from), step.options, out);
            out.push_back(text[at]);
            valid_from = at + 1;
        }
        at += std::max<std::size_t>(length, 1);
    }
    append_form(std::string_view(text).substr(valid_from), step.options, out);
    text = std::move(out);
}

void Normalizer::run(const Strip& step, bool /*continues*/, std::string& text) {
    std::size_t begin = 0;
    std::size_t end = 0;  // behind the last character that is no space
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t space = space_length(text, at);
        const std::size_t length = std::max<std::size_t>(space == 0 ? utf8_length(text, at) : space, 1);
        if (space > 0 && end == 0) begin = at + length;
        if (space == 0) end = at + length;
        at += length;
    }
    if (step.right) text.resize(std::max(end, step.left ? begin : 0));
    if (step.left) text.erase(0, begin);
}

}  // namespace longhaul::data
