// A file of lines that only grows: a line is one write(2), so that a kill leaves at most its last line torn.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/file.h"

namespace longhaul::observe {

class AppendFile {
public:
    // Ends a torn last line of an earlier process, so that the next one starts on its own.
    explicit AppendFile(std::filesystem::path path);
    // `line` without its end. Error bad_data names path and reason (a full disk, say).
    void append(std::string_view line);

private:
    std::filesystem::path path_;
    FileDescriptor file_;
};

}  // namespace longhaul::observe
