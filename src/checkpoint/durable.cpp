// POSIX calls behind durable.h.
#include "checkpoint/durable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_errno(std::string_view what, const fs::path& path, int error) {
    fail(ErrorCode::bad_data, "cannot {} {}: {}", what, path.string(), std::strerror(error));
}

fs::path beside(const fs::path& path, std::string_view purpose) {
    return path.parent_path() / fmt::format(".{}.{}-{}", path.filename().string(), purpose, ::getpid());
}

fs::path parent_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void rename_or_fail(const fs::path& from, const fs::path& to, const WriteOptions& options) {
    options.announce("rename", to);
    if (::rename(from.c_str(), to.c_str()) != 0)
        fail_errno(fmt::format("rename {} to", from.string()), to, errno);
}

void remove_tree(const fs::path& path, const WriteOptions& options) {
    options.announce("remove", path);
    std::error_code error;
    fs::remove_all(path, error);
    if (error) fail_errno("remove", path, error.value());
}

// Exchanges two directories in one step; false where the file system can't.
bool exchange(const fs::path& a, const fs::path& b) {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) fail_errno("replace", b, errno);
    return false;
}

}  // namespace

DurableFile::DurableFile(fs::path path, WriteOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
    options_.announce("create", path_);
    file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_.valid()) fail_errno("create", path_, errno);
}

void DurableFile::write(std::span<const std::byte> bytes) {
    hasher_.update(bytes);
    while (!bytes.empty()) {
        options_.announce("write", path_);
        const ssize_t n = ::write(file_.get(), bytes.data(), std::min(bytes.size(), options_.piece));
        if (n < 0) {
            if (errno == EINTR) continue;
            fail_errno("write", path_, errno);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        size_ += static_cast<std::size_t>(n);
    }
}

void DurableFile::write(std::string_view text) {
    write(std::as_bytes(std::span(text.data(), text.size())));
}

void DurableFile::finish() {
    options_.announce("sync", path_);
    if (::fsync(file_.get()) != 0) {
        if (errno != EINVAL) fail_errno("fsync", path_, errno);
        log_warning(
            fmt::format("{} can't be fsynced: its file system decides when it is durable", path_.string()));
    }
    // Some network file systems report a full disk only here.
    if (::close(file_.release()) != 0 && errno != EINTR) fail_errno("close", path_, errno);
}

FileHash hash_file(const fs::path& path, bool from_disk) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) fail_errno("open", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) fail_errno("stat", path, errno);
    require(S_ISREG(status.st_mode), ErrorCode::bad_data, "{} is not a regular file", path.string());
    if (from_disk) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Hasher hasher;
    FileHash result;
    std::vector<std::byte> buffer(std::size_t{1} << 20U);
    for (;;) {
        const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
        if (n < 0) {
            if (errno == EINTR) continue;
            fail_errno("read", path, errno);
        }
        if (n == 0) break;
        hasher.update(std::span(buffer).first(static_cast<std::size_t>(n)));
        result.bytes += static_cast<std::size_t>(n);
    }
    result.hash = hasher.digest();
    return result;
}

StagedDirectory::StagedDirectory(fs::path final_path, WriteOptions options)
    : final_(std::move(final_path)), temporary_(beside(final_, "tmp")), options_(std::move(options)) {
    // What this process number left before (an earlier process of the same number, say) is in the way.
    std::error_code error;
    if (fs::exists(temporary_, error)) remove_tree(temporary_, options_);
    options_.announce("create directory", temporary_);
    if (::mkdir(temporary_.c_str(), 0777) != 0) fail_errno("create directory", temporary_, errno);
}

StagedDirectory::~StagedDirectory() {
    if (temporary_.empty()) return;
    std::error_code error;
    fs::remove_all(temporary_, error);
    if (error) log_warning(fmt::format("cannot remove {}: {}", temporary_.string(), error.message()));
}

void StagedDirectory::commit() {
    options_.announce("sync", temporary_);
    for (const auto& entry : fs::recursive_directory_iterator(temporary_)) {
        if (entry.is_directory()) sync_directory(entry.path());
    }
    sync_directory(temporary_);
    std::error_code error;
    if (!fs::exists(final_, error)) {
        rename_or_fail(temporary_, final_, options_);
        temporary_.clear();
        sync_directory(parent_of(final_));
        return;
    }
    options_.announce("exchange", final_);
    if (!exchange(temporary_, final_)) {
        // Two renames: a process that ends between them leaves the old directory under its hidden name.
        const fs::path old = beside(final_, "old");
        if (fs::exists(old, error)) remove_tree(old, options_);
        rename_or_fail(final_, old, options_);
        rename_or_fail(temporary_, final_, options_);
        temporary_ = old;
    }
    sync_directory(parent_of(final_));
    const fs::path replaced = std::exchange(temporary_, {});
    remove_tree(replaced, options_);
}

void write_text_durable(const fs::path& path, std::string_view text, const WriteOptions& options) {
    const fs::path temporary = beside(path, "tmp");
    std::error_code error;
    fs::remove(temporary, error);
    try {
        DurableFile file(temporary, options);
        file.write(text);
        file.finish();
        rename_or_fail(temporary, path, options);
    } catch (...) {
        fs::remove(temporary, error);
        throw;
    }
    sync_directory(parent_of(path));
}

void remove_directory(const fs::path& path, const WriteOptions& options) {
    const fs::path hidden = beside(path, "deleted");
    std::error_code error;
    if (fs::exists(hidden, error)) remove_tree(hidden, options);
    rename_or_fail(path, hidden, options);
    remove_tree(hidden, options);
    sync_directory(parent_of(path));
}

}  // namespace longhaul::checkpoint
