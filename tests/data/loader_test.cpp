// The prefetcher: the same bytes at every depth, errors in their place, and an end at any moment.
#include "data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

// Sample i is {i, i, ...}; reading can be slow and ends at a size.
class Counting final : public SampleSource {
public:
    explicit Counting(std::int64_t size, std::chrono::milliseconds delay = {}) : size_(size), delay_(delay) {}
    void read(std::int64_t index, std::span<std::int32_t> out) const override {
        ++reads_;
        std::this_thread::sleep_for(delay_);
        require(index < size_, ErrorCode::bad_data, "the end is at {}", size_);
        std::ranges::fill(out, static_cast<std::int32_t>(index));
    }
    std::optional<std::int64_t> size() const override { return size_; }
    std::int64_t sequence_length() const override { return 3; }
    std::uint64_t fingerprint() const override { return 0; }
    std::string describe() const override { return ""; }
    std::int64_t reads() const { return reads_; }

private:
    std::int64_t size_;
    std::chrono::milliseconds delay_;
    mutable std::atomic<std::int64_t> reads_{0};
};

TEST(Prefetcher, SameBytesAtEveryDepth) {
    for (const int depth : {0, 1, 2, 7}) {
        const Counting source(1000000);
        Prefetcher prefetcher(source, 10, 5, depth);
        for (std::int64_t step = 0; step < 200; ++step) {
            const auto& tokens = prefetcher.next();
            ASSERT_EQ(tokens.size(), 20U);
            for (std::size_t i = 0; i < 20; ++i)
                ASSERT_EQ(tokens[i], 10 + step * 5 + static_cast<std::int64_t>(i / 4)) << "depth " << depth;
        }
    }
}

TEST(Prefetcher, ReadsAheadAsDeepAsTold) {
    const Counting source(1000000);
    Prefetcher prefetcher(source, 0, 5, 3);
    for (int i = 0; i < 1000 && source.reads() < 15; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(source.reads(), 15);
    (void)prefetcher.next();
    for (int i = 0; i < 1000 && source.reads() < 20; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(source.reads(), 20);
}

TEST(Prefetcher, ErrorsComeWithTheStepThatTheyBelongTo) {
    for (const int depth : {0, 1, 5}) {
        const Counting source(17);
        Prefetcher prefetcher(source, 0, 5, depth);
        for (int step = 0; step < 3; ++step) EXPECT_EQ(prefetcher.next()[0], step * 5);
        for (int again = 0; again < 3; ++again)
            EXPECT_EQ(test::message_of([&] { (void)prefetcher.next(); }), "the end is at 17")
                << "depth " << depth;
    }
}

TEST(Prefetcher, EndsAtAnyMoment) {
    for (int i = 0; i < 50; ++i) {
        const Counting source(1000);
        Prefetcher prefetcher(source, 0, 2, 3);
        for (int step = 0; step < i % 5; ++step) (void)prefetcher.next();
    }
    // In the middle of a long batch: it waits for one sample, not for 10,000.
    const Counting slow(1000000, std::chrono::milliseconds(5));
    const auto start = std::chrono::steady_clock::now();
    {
        Prefetcher prefetcher(slow, 0, 10000, 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Prefetcher, TellsHowLongItKeptTheCaller) {
    const Counting slow(1000, std::chrono::milliseconds(10));
    Prefetcher inline_reads(slow, 0, 2, 0);
    (void)inline_reads.next();
    EXPECT_GE(inline_reads.last_wait_seconds(), 0.02);
    (void)inline_reads.next();
    EXPECT_GE(inline_reads.total_wait_seconds(), 0.04);
    Prefetcher ahead(slow, 0, 2, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    (void)ahead.next();
    EXPECT_LT(ahead.last_wait_seconds(), 0.02);
}

TEST(Prefetcher, RefusesNonsense) {
    const Counting source(10);
    EXPECT_THROW(Prefetcher(source, -1, 1, 0), Error);
    EXPECT_THROW(Prefetcher(source, 0, 0, 0), Error);
    EXPECT_THROW(Prefetcher(source, 0, 1, -1), Error);
}

}  // namespace
}  // namespace longhaul::data
