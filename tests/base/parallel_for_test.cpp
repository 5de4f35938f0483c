// parallel_for: every index once, exceptions of bodies by the first index, nested calls serial.
#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace longhaul {
namespace {

// Runs a test at several numbers of threads and puts the number back.
class ParallelFor : public testing::TestWithParam<int> {
protected:
    void SetUp() override { set_threads(GetParam()); }
    void TearDown() override { set_threads(before_); }

private:
    int before_ = threads();
};

INSTANTIATE_TEST_SUITE_P(Threads, ParallelFor, testing::Values(1, 2, 7));

TEST_P(ParallelFor, CallsEveryIndexOnce) {
    EXPECT_EQ(threads(), GetParam());
    for (const std::int64_t count : {0, 1, 2, 3, 100, 1001}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count) + 1);
        parallel_for(count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(calls[static_cast<std::size_t>(i)], 1) << i;
        EXPECT_EQ(calls.back(), 0);
    }
}

TEST_P(ParallelFor, NegativeCountIsNothing) {
    parallel_for(-3, [](std::int64_t) { FAIL(); });
}

TEST_P(ParallelFor, FirstExceptionByIndexComesOut) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        try {
            parallel_for(64, [](std::int64_t i) {
                // The later index fails at once and the earlier one late: what comes out must not follow
                // timing.
                if (i == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                if (i == 3 || i == 40) throw std::runtime_error("at " + std::to_string(i));
            });
            FAIL() << "no exception";
        } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "at 3");
        }
    }
}

TEST_P(ParallelFor, WorksAgainAfterAnException) {
    EXPECT_THROW(parallel_for(8, [](std::int64_t) { throw std::runtime_error("all fail"); }),
                 std::runtime_error);
    std::atomic<int> calls{0};
    parallel_for(8, [&](std::int64_t) { ++calls; });
    EXPECT_EQ(calls, 8);
}

TEST_P(ParallelFor, NestedCallStaysOnItsThread) {
    std::atomic<int> inner{0};
    parallel_for(6, [&](std::int64_t) {
        const auto self = std::this_thread::get_id();
        parallel_for(1 << 6, [&](std::int64_t) {
            if (GetParam() > 1) {
                EXPECT_EQ(std::this_thread::get_id(), self);
            }
            ++inner;
        });
    });
    EXPECT_EQ(inner, 6 * 64);
}

TEST_P(ParallelFor, UsesNoMoreThreadsThanSaid) {
    std::atomic<int> now{0};
    std::atomic<int> most{0};
    parallel_for(50, [&](std::int64_t) {
        const int mine = ++now;
        for (int seen = most; seen < mine && !most.compare_exchange_weak(seen, mine);) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        --now;
    });
    EXPECT_LE(most, GetParam());
    EXPECT_GE(most, 1);
}

}  // namespace
}  // namespace longhaul
