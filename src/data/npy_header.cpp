// Parses the header, which is a Python dictionary in text: {'descr': '<i4', 'fortran_order': False, 'shape':
// (10, 8, 33), }
#include "data/npy_header.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace longhaul::data {

namespace {

class HeaderParser {
public:
    HeaderParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

    NpyHeader parse() {
        NpyHeader header;
        int seen = 0;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr") {
                header.descr = quoted();
                seen |= 1;
            } else if (key == "fortran_order") {
                header.fortran_order = boolean();
                seen |= 2;
            } else if (key == "shape") {
                header.shape = shape();
                seen |= 4;
            } else {
                refuse();
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        if (seen != 7) refuse();
        skip_space();
        if (!rest_.empty()) refuse();
        return header;
    }

private:
    [[noreturn]] void refuse() const {
        fail(ErrorCode::bad_data, "{}: the header of the .npy file is not understood at \"{}\"", name_,
             rest_.substr(0, 20));
    }
    void skip_space() {
        while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t'))
            rest_.remove_prefix(1);
    }
    bool accept(char c) {
        skip_space();
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char c) {
        if (!accept(c)) refuse();
    }
    std::string quoted() {
        skip_space();
        if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) refuse();
        const std::size_t end = rest_.find(rest_[0], 1);
        if (end == std::string_view::npos) refuse();
        std::string text(rest_.substr(1, end - 1));
        rest_.remove_prefix(end + 1);
        return text;
    }
    bool boolean() {
        skip_space();
        for (const bool value : {false, true}) {
            const std::string_view word = value ? "True" : "False";
            if (rest_.starts_with(word)) {
                rest_.remove_prefix(word.size());
                return value;
            }
        }
        refuse();
    }
    std::vector<std::int64_t> shape() {
        std::vector<std::int64_t> sizes;
        expect('(');
        while (!accept(')')) {
            skip_space();
            std::int64_t size = 0;
            const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
            if (error != std::errc() || size < 0) refuse();
            rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
            sizes.push_back(size);
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return sizes;
    }

    std::string_view rest_;
    const std::string& name_;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
    constexpr std::string_view kMagic = "\x93NUMPY";
    require(bytes.size() >= 10 && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0,
            ErrorCode::bad_data, "{}: no .npy file (it does not begin with \\x93NUMPY)", name);
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    const std::uint32_t major = byte(6);
    require(major >= 1 && major <= 3, ErrorCode::bad_data,
            "{}: offset 6: version {} of the .npy format is not known", name, major);
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    require(bytes.size() >= 8 + length_bytes, ErrorCode::bad_data, "{}: the file ends in its header", name);
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= static_cast<std::size_t>(byte(8 + i)) << (8 * i);
    const std::size_t begin = 8 + length_bytes;
    require(length <= bytes.size() - begin, ErrorCode::bad_data, "{}: the file ends in its header", name);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + begin, length);
    NpyHeader header = HeaderParser(text, name).parse();
    header.data_offset = begin + length;
    return header;
}

}  // namespace longhaul::data
