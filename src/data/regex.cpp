// PCRE2 behind the interface of regex.h.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/regex.h"

#include <pcre2.h>

#include <algorithm>

#include "base/error.h"

namespace longhaul::data {

namespace {

// White space as Unicode has it. PCRE2's \s also takes U+180E, which is none since Unicode 6.3.
constexpr std::string_view kSpace = R"(\x{9}-\x{d}\x{85}\p{Z})";

// \s and \S spelled out, inside of classes and outside; \h of Oniguruma (hexadecimal digit) likewise.
std::string in_pcre_dialect(std::string_view pattern) {
    std::string out;
    bool in_class = false;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\' && i + 1 < pattern.size()) {
            const char next = pattern[++i];
            if (next == 's' && in_class) {
                out += kSpace;
            } else if (next == 's' || (next == 'S' && !in_class)) {
                out += fmt::format("[{}{}]", next == 'S' ? "^" : "", kSpace);
            } else if (next == 'h') {
                out += in_class ? "0-9a-fA-F" : "[0-9a-fA-F]";
            } else {
                out += c;
                out += next;
            }
            continue;
        }
        if (c == '[' && !in_class) {
            in_class = true;
            out += c;
            if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
            if (i + 1 < pattern.size() && pattern[i + 1] == ']') out += pattern[++i];
            continue;
        }
        require(!in_class || !pattern.substr(i).starts_with("&&"), ErrorCode::bad_data,
                "the pattern {} intersects classes by &&, which is not supported", pattern);
        if (c == ']') in_class = false;
        out += c;
    }
    return out;
}

std::string pcre_message(int code) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

constexpr std::size_t kStackBytes = 32 << 10;
constexpr std::size_t kMaxStackBytes = 4 << 20;
// Steps of one match: hours of back-tracking become an error instead.
constexpr std::uint32_t kMatchLimit = 20'000'000;

}  // namespace

struct Regex::Code {
    pcre2_code* code = nullptr;
    std::string pattern;
    bool jit = false;
    ~Code() { pcre2_code_free(code); }
};

Regex::Regex(const std::string& pattern) : code_(std::make_unique<Code>()) {
    const std::string translated = in_pcre_dialect(pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_->pattern = pattern;
    // PCRE2_NEVER_BACKSLASH_C: \C would cut characters.
    code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                &error, &offset, nullptr);
    require(code_->code != nullptr, ErrorCode::bad_data, "the pattern {} can't be compiled: {}", pattern,
            pcre_message(error));
    code_->jit = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

struct Regex::Matcher::State {
    const Code* code = nullptr;
    pcre2_match_data* data = nullptr;
    pcre2_match_context* context = nullptr;
    pcre2_jit_stack* stack = nullptr;
    ~State() {
        pcre2_match_data_free(data);
        pcre2_match_context_free(context);
        pcre2_jit_stack_free(stack);
    }
};

Regex::Matcher::Matcher(const Regex& regex) : state_(std::make_unique<State>()) {
    state_->code = regex.code_.get();
    // Groups within the pattern don't matter: room for the whole match alone.
    state_->data = pcre2_match_data_create(1, nullptr);
    state_->context = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(state_->context, kMatchLimit);
    if (state_->code->jit) {
        state_->stack = pcre2_jit_stack_create(kStackBytes, kMaxStackBytes, nullptr);
        pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
    }
}

Regex::Matcher::~Matcher() = default;
Regex::Matcher::Matcher(Matcher&&) noexcept = default;
Regex::Matcher& Regex::Matcher::operator=(Matcher&&) noexcept = default;

bool Regex::Matcher::find(std::string_view text, std::size_t from, std::size_t& begin, std::size_t& end) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    while (from <= text.size()) {
        int result = 0;
        if (state_->code->jit) {
            result = pcre2_jit_match(state_->code->code, subject, text.size(), from, PCRE2_NOTEMPTY,
                                     state_->data, state_->context);
        } else {
            result = pcre2_match(state_->code->code, subject, text.size(), from, PCRE2_NOTEMPTY, state_->data,
                                 state_->context);
        }
        if (result == PCRE2_ERROR_NOMATCH) return false;
        require(result >= 0, ErrorCode::bad_data, "the pattern {} fails on this text: {}",
                state_->code->pattern, pcre_message(result));
        const PCRE2_SIZE* range = pcre2_get_ovector_pointer(state_->data);
        begin = range[0];
        end = range[1];
        // \K may put the beginning behind the end, or before where we stand.
        if (begin >= from && end > begin) return true;
        from = std::max(from, end) + 1;
    }
    return false;
}

std::string Regex::quoted(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') ||
                           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!plain) out += '\\';
        out += c;
    }
    return out;
}

}  // namespace longhaul::data
