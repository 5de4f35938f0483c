// POSIX file access with errors that name the path.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace longhaul {

namespace {

constexpr std::size_t kBufferBytes = 1U << 20U;

[[noreturn]] void fail_errno(const char* what, const std::filesystem::path& path) {
    const int error = errno;
    fail(ErrorCode::bad_data, "cannot {} {}: {}", what, path.string(), std::strerror(error));
}

FileDescriptor open_or_fail(const std::filesystem::path& path, int flags, const char* what) {
    FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
    if (!file.valid()) fail_errno(what, path);
    return file;
}

std::size_t size_of(const FileDescriptor& file, const std::filesystem::path& path) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) fail_errno("stat", path);
    require(S_ISREG(status.st_mode), ErrorCode::bad_data, "{} is not a regular file", path.string());
    return static_cast<std::size_t>(status.st_size);
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0) {
            if (errno == EINTR) continue;
            fail_errno("write", path);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

int FileDescriptor::release() {
    return std::exchange(fd_, -1);
}

void FileDescriptor::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

std::string read_file(const std::filesystem::path& path) {
    const FileDescriptor file = open_or_fail(path, O_RDONLY, "open");
    std::string content(size_of(file, path), '\0');
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::read(file.get(), content.data() + done, content.size() - done);
        if (n < 0) {
            if (errno == EINTR) continue;
            fail_errno("read", path);
        }
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    content.resize(done);
    return content;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
    const FileDescriptor file = open_or_fail(path, O_RDONLY, "open");
    size_ = size_of(file, path);
    if (size_ == 0) return;
    void* map = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (map == MAP_FAILED) fail_errno("map", path);
    data_ = static_cast<const std::byte*>(map);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    // The process tells who made it; the number keeps two writers of one path apart.
    static std::atomic<std::uint64_t> number{0};
    temporary_ = path_.parent_path() /
                 fmt::format(".{}.tmp.{}.{}", path_.filename().string(), ::getpid(), number.fetch_add(1));
    file_ = open_or_fail(temporary_, O_RDWR | O_CREAT | O_TRUNC, "create");
    buffer_.reserve(kBufferBytes);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      buffer_(std::move(other.buffer_)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::flush() {
    write_all(file_.get(), buffer_, path_);
    buffer_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes) {
        write_all(file_.get(), bytes, path_);
    } else {
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
}

void AtomicFile::write(std::string_view text) {
    write(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::write_at(std::size_t offset, std::span<const std::byte> bytes) {
    flush();
    require(offset <= size_ && bytes.size() <= size_ - offset, ErrorCode::internal,
            "write_at past the end of {}", path_.string());
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0) {
            if (errno == EINTR) continue;
            fail_errno("write", path_);
        }
        offset += static_cast<std::size_t>(n);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

void AtomicFile::commit() {
    flush();
    if (::fsync(file_.get()) != 0 && errno != EINVAL) fail_errno("fsync", path_);
    file_.reset();
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_errno("rename to", path_);
    temporary_.clear();
    sync_directory(path_.has_parent_path() ? path_.parent_path() : std::filesystem::path("."));
}

void write_file_atomic(const std::filesystem::path& path, std::string_view text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
}

void sync_directory(const std::filesystem::path& directory) {
    const FileDescriptor file = open_or_fail(directory, O_RDONLY | O_DIRECTORY, "open directory");
    if (::fsync(file.get()) != 0) {
        if (errno == EINVAL) {
            log_warning(fmt::format("{} can't be fsynced: its file system decides when renames are durable",
                                    directory.string()));
            return;
        }
        fail_errno("fsync directory", directory);
    }
}

}  // namespace longhaul
