// Durations in words, and clocks that run forward.
#include "base/time.h"

#include <gtest/gtest.h>

namespace longhaul {

TEST(Time, DurationsAreRoundedToSeconds) {
    EXPECT_EQ(human_duration(0), "0s");
    EXPECT_EQ(human_duration(12.4), "12s");
    EXPECT_EQ(human_duration(59.6), "1m 00s");
    EXPECT_EQ(human_duration(187), "3m 07s");
    EXPECT_EQ(human_duration(3599.6), "1h 00m");
    EXPECT_EQ(human_duration(3725), "1h 02m");
    EXPECT_EQ(human_duration(100 * 3600), "100h 00m");
}

TEST(Time, StopwatchRunsForward) {
    Stopwatch watch;
    const double first = watch.seconds();
    EXPECT_GE(first, 0);
    EXPECT_GE(watch.seconds(), first);
    EXPECT_GT(unix_time(), 1.6e9);
}

}  // namespace longhaul
