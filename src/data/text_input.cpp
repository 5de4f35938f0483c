// Reads through zlib's inflate and libzstd's streaming decoder itself, so that faults can be named with their
// offset.
#include "data/text_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace longhaul::data {

namespace {

enum class Format { plain, gzip, zstd };

constexpr std::size_t kInputBytes = 1U << 18U;
constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

}  // namespace

struct TextInput::State {
    std::string name;
    FileDescriptor owned;
    int fd = -1;
    std::size_t size = 0;
    Format format = Format::plain;

    std::vector<char> buffer = std::vector<char>(kInputBytes);
    std::size_t begin = 0;  // unread bytes of the buffer are [begin, end)
    std::size_t end = 0;
    std::size_t fetched = 0;  // bytes read from the descriptor
    bool end_of_file = false;

    z_stream inflater{};
    bool inflater_open = false;
    ZSTD_DStream* zstd = nullptr;
    bool in_member = false;  // inside a gzip member or a zstd frame
    bool finished = false;

    ~State() {
        if (inflater_open) inflateEnd(&inflater);
        if (zstd != nullptr) ZSTD_freeDStream(zstd);
    }

    [[nodiscard]] std::size_t offset() const { return fetched - (end - begin); }
    [[nodiscard]] std::string_view unread() const { return {buffer.data() + begin, end - begin}; }

    // Adds bytes behind the unread ones; false at the end of the file.
    bool fetch() {
        if (end_of_file) return false;
        if (begin > 0) {
            std::memmove(buffer.data(), buffer.data() + begin, end - begin);
            end -= begin;
            begin = 0;
        }
        while (true) {
            const ssize_t n = ::read(fd, buffer.data() + end, buffer.size() - end);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) {
                const int error = errno;
                fail(ErrorCode::bad_data, "cannot read {} at byte {}: {}", name, fetched,
                     std::strerror(error));
            }
            end += static_cast<std::size_t>(n);
            fetched += static_cast<std::size_t>(n);
            end_of_file = n == 0;
            return n > 0;
        }
    }

    // True if the unread bytes start with `magic`, fetching as many as that takes.
    bool starts_with(std::string_view magic) {
        while (end - begin < magic.size() && fetch()) {
        }
        return unread().starts_with(magic);
    }

    [[noreturn]] void truncated() const {
        fail(ErrorCode::bad_data,
             "{} ends in the middle of its {} data, at byte {}: it is cut short; copy it again", name,
             format == Format::gzip ? "gzip" : "zstd", offset());
    }

    std::size_t read_plain(std::span<char> out);
    std::size_t read_gzip(std::span<char> out);
    std::size_t read_zstd(std::span<char> out);
    bool next_member(std::string_view magic, const char* kind);
};

std::size_t TextInput::State::read_plain(std::span<char> out) {
    if (begin == end && !fetch()) return 0;
    const std::size_t n = std::min(out.size(), end - begin);
    std::memcpy(out.data(), buffer.data() + begin, n);
    begin += n;
    return n;
}

// Stands at a member's end: true if another one follows. Anything else that follows is an error, except zero
// padding.
bool TextInput::State::next_member(std::string_view magic, const char* kind) {
    if (starts_with(magic)) return true;
    while (true) {
        for (; begin < end; ++begin) {
            require(buffer[begin] == '\0', ErrorCode::bad_data,
                    "{} has bytes at offset {} that are not {}, behind its {} data: it is damaged", name,
                    offset(), kind, kind);
        }
        if (!fetch()) return false;
    }
}

std::size_t TextInput::State::read_gzip(std::span<char> out) {
    if (!in_member) {
        if (!next_member(kGzipMagic, "gzip")) return 0;
        if (inflater_open) inflateEnd(&inflater);
        inflater = {};
        // 15 is the largest window, 16 asks for the gzip wrapper with its checksum.
        require(inflateInit2(&inflater, 15 + 16) == Z_OK, ErrorCode::internal,
                "zlib can't be initialised for {}", name);
        inflater_open = true;
        in_member = true;
    }
    if (begin == end) fetch();
    const bool starved = begin == end;  // the decoder may still hold text for which `out` had no room
    const std::size_t room = std::min<std::size_t>(out.size(), 1U << 30U);
    inflater.next_in = reinterpret_cast<Bytef*>(buffer.data() + begin);
    inflater.avail_in = static_cast<uInt>(end - begin);
    inflater.next_out = reinterpret_cast<Bytef*>(out.data());
    inflater.avail_out = static_cast<uInt>(room);
    const int status = inflate(&inflater, Z_NO_FLUSH);
    begin = end - inflater.avail_in;
    require(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, ErrorCode::bad_data,
            "{} is corrupt near byte {} of its gzip data: {}", name, offset(),
            inflater.msg != nullptr ? inflater.msg : "unreadable block");
    if (status == Z_STREAM_END) in_member = false;
    if (in_member && starved && inflater.avail_out == room) truncated();
    return room - inflater.avail_out;
}

std::size_t TextInput::State::read_zstd(std::span<char> out) {
    if (!in_member) {
        // Skippable frames have magic numbers 0x184D2A50..5F; libzstd passes over them.
        const bool skippable = starts_with(kZstdMagic)
                                   ? false
                                   : (end - begin >= 4 && (buffer[begin] & 0xf0) == 0x50 &&
                                      unread().substr(1, 3) == "\x2a\x4d\x18");
        if (!skippable && !next_member(kZstdMagic, "zstd")) return 0;
        in_member = true;
    }
    if (begin == end) fetch();
    const bool starved = begin == end;
    ZSTD_inBuffer in{buffer.data() + begin, end - begin, 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t status = ZSTD_decompressStream(zstd, &to, &in);
    begin += in.pos;
    require(ZSTD_isError(status) == 0U, ErrorCode::bad_data,
            "{} is corrupt near byte {} of its zstd data: {}", name, offset(), ZSTD_getErrorName(status));
    if (status == 0) in_member = false;
    if (in_member && starved && to.pos == 0) truncated();
    return to.pos;
}

TextInput::TextInput(const std::filesystem::path& path) : state_(std::make_unique<State>()) {
    State& s = *state_;
    if (path == "-") {
        s.name = "standard input";
        s.fd = STDIN_FILENO;
    } else {
        s.name = path.string();
        s.owned = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        const int error = errno;
        require(s.owned.valid(), ErrorCode::bad_data, "cannot open {}: {}", s.name, std::strerror(error));
        s.fd = s.owned.get();
        struct stat status {};
        require(::fstat(s.fd, &status) == 0 && !S_ISDIR(status.st_mode), ErrorCode::bad_data,
                "{} is a folder, not a file of text", s.name);
        if (S_ISREG(status.st_mode)) s.size = static_cast<std::size_t>(status.st_size);
    }
    if (s.starts_with(kGzipMagic)) {
        s.format = Format::gzip;
    } else if (s.starts_with(kZstdMagic)) {
        s.format = Format::zstd;
        s.zstd = ZSTD_createDStream();
        require(s.zstd != nullptr, ErrorCode::internal, "libzstd has no memory to read {}", s.name);
    }
}

TextInput::~TextInput() = default;
TextInput::TextInput(TextInput&&) noexcept = default;
TextInput& TextInput::operator=(TextInput&&) noexcept = default;

std::size_t TextInput::read(std::span<char> out) {
    State& s = *state_;
    std::size_t done = 0;
    while (done < out.size() && !s.finished) {
        const std::span<char> rest = out.subspan(done);
        const std::size_t n = s.format == Format::plain  ? s.read_plain(rest)
                              : s.format == Format::gzip ? s.read_gzip(rest)
                                                         : s.read_zstd(rest);
        done += n;
        // A decoder may take input without giving output; only a clean end between members ends the text.
        if (n == 0 && !s.in_member && s.begin == s.end && s.end_of_file) s.finished = true;
    }
    return done;
}

std::size_t TextInput::consumed() const {
    return state_->offset();
}

std::size_t TextInput::file_size() const {
    return state_->size;
}

std::string read_all(TextInput& input) {
    std::string text;
    std::size_t size = 0;
    std::size_t got = 0;
    do {
        text.resize(std::max<std::size_t>(text.size() * 2, kInputBytes));
        got = input.read(std::span(text).subspan(size));
        size += got;
    } while (size == text.size());
    text.resize(size);
    return text;
}

}  // namespace longhaul::data
