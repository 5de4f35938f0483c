// O_APPEND.
#include "observe/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace longhaul::observe {

AppendFile::AppendFile(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    require(file_.valid(), ErrorCode::bad_data, "cannot open {}: {}", path_.string(), std::strerror(errno));
    const off_t size = ::lseek(file_.get(), 0, SEEK_END);
    char last = '\n';
    if (size > 0 && ::pread(file_.get(), &last, 1, size - 1) == 1 && last != '\n') append("");
}

void AppendFile::append(std::string_view line) {
    std::string text(line);
    text += '\n';
    ssize_t written = -1;
    do {
        written = ::write(file_.get(), text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    require(written == static_cast<ssize_t>(text.size()), ErrorCode::bad_data, "cannot append to {}: {}",
            path_.string(), written < 0 ? std::strerror(errno) : "the disk took only a part of the line");
}

}  // namespace longhaul::observe
