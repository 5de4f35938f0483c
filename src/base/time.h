// Clocks: a monotonic stopwatch and wall-clock stamps.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace longhaul {

class Stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    void restart() { start_ = std::chrono::steady_clock::now(); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Seconds since the Unix epoch.
[[nodiscard]] double unix_time();

// "1h 02m", "3m 07s", "12s": for progress lines.
[[nodiscard]] std::string human_duration(double seconds);

}  // namespace longhaul
