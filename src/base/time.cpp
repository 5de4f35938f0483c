// Wall clock and durations in words.
#include "base/time.h"

#include <fmt/format.h>

#include <cmath>

namespace longhaul {

double unix_time() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string human_duration(double seconds) {
    const auto total = static_cast<std::int64_t>(std::llround(seconds));
    if (total >= 3600) return fmt::format("{}h {:02}m", total / 3600, total / 60 % 60);
    if (total >= 60) return fmt::format("{}m {:02}s", total / 60, total % 60);
    return fmt::format("{}s", total);
}

}  // namespace longhaul
