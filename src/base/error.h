// The one exception type of Longhaul: a code that decides the exit status, and a sentence that says what was
// wrong, where, and what to do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace longhaul {

enum class ErrorCode {
    bad_config,       // arguments or configuration: exit status 2
    bad_data,         // input data or a checkpoint: exit status 3
    training_failed,  // training could not go on: exit status 4
    internal,         // a broken invariant of ours: exit status 4
};

class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ErrorCode code() const { return code_; }

private:
    ErrorCode code_;
};

// Exit status of the process for an error of this code.
[[nodiscard]] int exit_status(ErrorCode code);

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws unless `condition` holds. For conditions that depend on input; the format arguments are evaluated
// always.
template <typename... Args>
void require(bool condition, ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition) [[unlikely]] {
        throw Error(code, fmt::format(format, std::forward<Args>(args)...));
    }
}

}  // namespace longhaul
