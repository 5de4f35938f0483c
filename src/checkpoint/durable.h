// Files and directories that are on disk when we say so: hashed writes, fsync, atomic replacement of
// directories. Every failure is an Error that names the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "base/file.h"
#include "base/hash.h"

namespace longhaul::checkpoint {

struct WriteOptions {
    // Bytes of one write call.
    std::size_t piece = std::size_t{8} << 20U;
    // Called before every operation that changes the file system, with its name ("write", "rename", ...) and
    // path. A fault injected here (a throw, the end of the process) must leave earlier checkpoints whole.
    std::function<void(std::string_view operation, const std::filesystem::path& path)> before;

    void announce(std::string_view operation, const std::filesystem::path& path) const {
        if (before) before(operation, path);
    }
};

// A new file, hashed as it is written. It must not exist yet.
class DurableFile {
public:
    DurableFile(std::filesystem::path path, WriteOptions options);
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    // fsync and close. A file system without fsync (EINVAL) is logged and passed.
    void finish();
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::uint64_t hash() const { return hasher_.digest(); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
    WriteOptions options_;
    FileDescriptor file_;
    Hasher hasher_;
    std::size_t size_ = 0;
};

struct FileHash {
    std::size_t bytes = 0;
    std::uint64_t hash = 0;
};
// Reads the file (not through a map: a read error is an Error, not a signal). `from_disk` first asks the
// system to drop its cached pages, so that what is checked is what the disk holds, where the system follows.
[[nodiscard]] FileHash hash_file(const std::filesystem::path& path, bool from_disk);

// A hidden directory beside `final_path`, named after it and this process, that becomes final_path by
// commit() or vanishes. An existing final_path is exchanged atomically and then removed.
class StagedDirectory {
public:
    StagedDirectory(std::filesystem::path final_path, WriteOptions options);
    ~StagedDirectory();
    StagedDirectory(const StagedDirectory&) = delete;
    StagedDirectory& operator=(const StagedDirectory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }
    void commit();

private:
    std::filesystem::path final_;
    std::filesystem::path temporary_;
    WriteOptions options_;
};

// Text under a final name, whole or not at all.
void write_text_durable(const std::filesystem::path& path, std::string_view text,
                        const WriteOptions& options);

// Removes a directory so that it is never seen half removed under its own name.
void remove_directory(const std::filesystem::path& path, const WriteOptions& options);

}  // namespace longhaul::checkpoint
