// RUN/events.jsonl: what happened to the job, in order: start, resume, evaluation, skip, checkpoint, signal,
// end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "observe/append_file.h"

namespace longhaul::observe {

using EventValue = std::variant<std::int64_t, double, std::string>;

class EventLog {
public:
    explicit EventLog(const std::filesystem::path& path) : file_(path) {}
    // {"time": seconds since 1970, "event": kind, ...fields in order}
    void event(std::string_view kind, std::initializer_list<std::pair<std::string_view, EventValue>> fields);

private:
    AppendFile file_;
};

}  // namespace longhaul::observe
