// SIGINT and SIGTERM as a number that work polls between two pieces of it.
#pragma once

#include <atomic>

namespace longhaul::cli {

// From now on the first of these signals is kept here (0: none came), a second one ends the process at once.
// A handler can reach nothing but a global.
std::atomic<int>& catch_signals();

}  // namespace longhaul::cli
