// Owned memory: aligned, zero-filled, counted by name, and an error that says who holds what.
#include "tensor/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/error.h"

namespace longhaul {
namespace {

using testing::HasSubstr;

TEST(Buffer, IsAlignedAndZero) {
    for (const std::size_t bytes : {1U, 63U, 4096U, 4097U, 5U << 20U}) {
        const Buffer buffer(bytes, "test", nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
        EXPECT_EQ(buffer.bytes(), bytes);
        EXPECT_TRUE(
            std::all_of(buffer.data(), buffer.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    }
}

TEST(Buffer, EmptyOneHasAnAddress) {
    const Buffer buffer(0, "nothing", nullptr);
    EXPECT_EQ(buffer.bytes(), 0U);
    EXPECT_NE(buffer.data(), nullptr);
}

TEST(Buffer, LedgerCountsFromBirthToDeath) {
    MemoryLedger ledger;
    {
        const Buffer a(100, "a", &ledger);
        const Buffer a2(20, "a", &ledger);
        {
            const Buffer b(1000, "b", &ledger);
            EXPECT_EQ(ledger.current(), 1120U);
            EXPECT_EQ(ledger.by_name(), (std::map<std::string, std::size_t>{{"a", 120}, {"b", 1000}}));
        }
        EXPECT_EQ(ledger.current(), 120U);
        EXPECT_EQ(ledger.by_name(), (std::map<std::string, std::size_t>{{"a", 120}}));
    }
    EXPECT_EQ(ledger.current(), 0U);
    EXPECT_EQ(ledger.peak(), 1120U);
    EXPECT_TRUE(ledger.by_name().empty());
}

TEST(Buffer, MovingKeepsTheCount) {
    MemoryLedger ledger;
    Buffer a(100, "a", &ledger);
    const std::byte* data = a.data();
    Buffer moved(std::move(a));
    EXPECT_EQ(moved.data(), data);
    EXPECT_EQ(ledger.current(), 100U);
    moved = Buffer(7, "c", &ledger);
    EXPECT_EQ(moved.bytes(), 7U);
    EXPECT_EQ(ledger.current(), 7U);
    EXPECT_EQ(ledger.by_name(), (std::map<std::string, std::size_t>{{"c", 7}}));
}

TEST(Buffer, ViewsLieInside) {
    const Buffer buffer(64, "test", nullptr);
    EXPECT_EQ(buffer.view(DType::f32, {4, 4}).data, buffer.data());
    EXPECT_EQ(buffer.view(DType::bf16, {8}, 48).data, buffer.data() + 48);
    EXPECT_THROW((void)buffer.view(DType::f32, {17}), Error);
    EXPECT_THROW((void)buffer.view(DType::bf16, {8}, 49), Error);
    EXPECT_THROW((void)buffer.view(DType::bf16, {1}, ~std::size_t{0}), Error);
}

TEST(Buffer, OutOfMemorySaysWhoHoldsWhat) {
    MemoryLedger ledger;
    const Buffer held(4096, "weights", &ledger);
    try {
        const Buffer huge(std::size_t{1} << 60U, "activations", &ledger);
        FAIL() << "2^60 bytes were mapped";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::training_failed);
        EXPECT_THAT(error.what(), AllOf(HasSubstr("1152921504606846976 bytes for activations"),
                                        HasSubstr("weights holds 4096 bytes")));
    }
    EXPECT_EQ(ledger.current(), 4096U);
}

TEST(MemoryLedger, CountsFromManyThreads) {
    MemoryLedger ledger;
    {
        std::vector<std::jthread> team;
        for (int t = 0; t < 4; ++t) {
            team.emplace_back([&ledger, t] {
                for (int i = 0; i < 200; ++i) const Buffer buffer(10, "thread " + std::to_string(t), &ledger);
            });
        }
    }
    EXPECT_EQ(ledger.current(), 0U);
    EXPECT_GE(ledger.peak(), 10U);
    EXPECT_LE(ledger.peak(), 40U);
}

}  // namespace
}  // namespace longhaul
