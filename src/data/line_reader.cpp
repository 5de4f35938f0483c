// Finds line breaks in a sliding buffer.
#include "data/line_reader.h"

#include <cstring>

namespace longhaul::data {

void LineReader::refill() {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t room = buffer_.size() - end_;
    const std::size_t got = input_.read(std::span(buffer_).last(room));
    end_ += got;
    ended_ = got < room;
}

bool LineReader::next(Fragment& fragment) {
    if (!started_) {
        started_ = true;
        refill();
        if (std::string_view(buffer_.data(), end_).starts_with("\xEF\xBB\xBF")) begin_ = 3;
    }
    const auto find = [this](std::size_t from) -> const char* {
        return from == end_ ? nullptr
                            : static_cast<const char*>(std::memchr(buffer_.data() + from, '\n', end_ - from));
    };
    const char* found = find(begin_);
    if (found == nullptr && !ended_) {
        const std::size_t searched = end_ - begin_;
        refill();
        found = find(searched);
    }
    if (begin_ == end_) return false;
    // A full buffer without a line break keeps a byte back: only then it is known whether the line goes on.
    const std::size_t stop = found != nullptr ? static_cast<std::size_t>(found - buffer_.data()) + 1
                             : ended_         ? end_
                                              : end_ - 1;
    fragment.text = std::string_view(buffer_.data() + begin_, stop - begin_);
    fragment.begins_line = !inside_line_;
    fragment.ends_line = found != nullptr || ended_;
    inside_line_ = !fragment.ends_line;
    begin_ = stop;
    return true;
}

}  // namespace longhaul::data
