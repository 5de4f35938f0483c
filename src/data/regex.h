// Regular expressions over UTF-8, through PCRE2 with its compiler to machine code. Bytes that are no UTF-8
// match nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::data {

class Regex {
public:
    // A pattern as it stands in tokenizer.json files (Oniguruma's syntax, the part that PCRE2 shares:
    // classes, properties, look-around, possessive and lazy repeats). Error bad_data with the pattern and the
    // reason.
    explicit Regex(const std::string& pattern);
    ~Regex();
    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;

    // What a thread needs to match; for one Regex only, for one thread at a time.
    class Matcher {
    public:
        explicit Matcher(const Regex& regex);
        ~Matcher();
        Matcher(Matcher&&) noexcept;
        Matcher& operator=(Matcher&&) noexcept;
        // The first match that begins at or behind `from`, as [begin, end); false if there is none. Empty
        // matches are passed over. Error bad_data where the pattern needs too many steps on this text.
        [[nodiscard]] bool find(std::string_view text, std::size_t from, std::size_t& begin,
                                std::size_t& end);

    private:
        struct State;
        std::unique_ptr<State> state_;
    };

    // Escapes everything, so that the pattern matches the text itself.
    [[nodiscard]] static std::string quoted(std::string_view text);

private:
    struct Code;
    std::unique_ptr<Code> code_;
};

}  // namespace longhaul::data
