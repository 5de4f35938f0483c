// Logging to standard error. Standard output belongs to results (--json), so nothing is ever logged there.
#pragma once

#include <string_view>

namespace longhaul {

void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

// Also append every later line to this file (the rank's log in a run directory).
void log_to_file(const char* path);

}  // namespace longhaul
