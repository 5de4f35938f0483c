// flock on RUN/.lock, which the system releases however the process ends.
#include "observe/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace longhaul::observe {

RunDirectory RunDirectory::create(const std::filesystem::path& root) {
    RunDirectory directory;
    directory.root_ = root;
    std::error_code error;
    std::filesystem::create_directories(root / "logs", error);
    require(!error, ErrorCode::bad_config, "cannot make the run directory {}: {}", root.string(),
            error.message());
    const std::filesystem::path path = root / ".lock";
    directory.lock_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    require(directory.lock_.valid(), ErrorCode::bad_config, "cannot open {}: {}", path.string(),
            std::strerror(errno));
    if (::flock(directory.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        fail(ErrorCode::bad_config,
             "the run directory {} is in use by process {}; give another --run-dir, or end that process",
             root.string(), read_file(path));
    }
    const std::string pid = fmt::format("{}", ::getpid());
    if (::ftruncate(directory.lock_.get(), 0) != 0 ||
        ::pwrite(directory.lock_.get(), pid.data(), pid.size(), 0) < 0) {
        fail(ErrorCode::bad_config, "cannot write {}: {}", path.string(), std::strerror(errno));
    }
    return directory;
}

std::filesystem::path RunDirectory::log(std::int64_t rank) const {
    return root_ / "logs" / fmt::format("rank-{:05}.log", rank);
}

}  // namespace longhaul::observe
