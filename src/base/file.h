// Files: whole reads, read-only maps, and writes that appear under their final name complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

// The whole file as bytes in a string. Error bad_data with path and reason.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

// Owns a file descriptor.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    ~FileDescriptor() { reset(); }
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }
    int release();
    void reset();

private:
    int fd_ = -1;
};

// A read-only memory map of a whole file (an empty file gives an empty span). The bytes live as long as the
// object.
class MappedFile {
public:
    MappedFile() = default;
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

private:
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// A file in the making: written to a hidden temporary name beside `path`, fsynced and renamed to `path` by
// commit(). Without commit() nothing is left behind. Every failure (a full disk, say) is an Error that names
// path and reason.
class AtomicFile {
public:
    explicit AtomicFile(std::filesystem::path path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    AtomicFile(AtomicFile&& other) noexcept;
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    // Overwrites bytes at an absolute offset that was already written (to fill in a header's counts at the
    // end).
    void write_at(std::size_t offset, std::span<const std::byte> bytes);
    [[nodiscard]] std::size_t size() const { return size_; }
    void commit();

private:
    void flush();
    std::filesystem::path path_;
    std::filesystem::path temporary_;
    FileDescriptor file_;
    std::vector<std::byte> buffer_;
    std::size_t size_ = 0;
};

// Writes `text` to `path` as above.
void write_file_atomic(const std::filesystem::path& path, std::string_view text);

// fsync of a directory, so that renames in it are durable; a file system that can't (EINVAL) is logged once
// and passed.
void sync_directory(const std::filesystem::path& directory);

}  // namespace longhaul
