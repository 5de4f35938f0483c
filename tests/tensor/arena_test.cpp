// Arenas: what the counting run plans is what the real one takes, and scopes lay later tensors over earlier
// ones.
#include "tensor/arena.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace longhaul {
namespace {

using testing::HasSubstr;

// Three tensors, the last two of which share memory.
std::vector<TensorView> lay_out(Arena& arena) {
    std::vector<TensorView> taken{arena.take("kept", DType::f32, {3, 5})};
    {
        const ArenaScope scope(arena);
        taken.push_back(arena.take("first", DType::bf16, {100}));
    }
    {
        const ArenaScope scope(arena);
        taken.push_back(arena.take("second", DType::u8, {7}));
    }
    return taken;
}

TEST(Arena, PlanIsExactlyWhatIsUsed) {
    Arena plan("plan");
    EXPECT_TRUE(plan.planning());
    for (const TensorView& view : lay_out(plan)) EXPECT_EQ(view.data, nullptr);
    EXPECT_EQ(plan.peak(), 64U + 256U);

    MemoryLedger ledger;
    Arena arena("real", plan.peak(), &ledger);
    EXPECT_FALSE(arena.planning());
    EXPECT_EQ(ledger.by_name(), (std::map<std::string, std::size_t>{{"real", 320}}));
    const auto taken = lay_out(arena);
    EXPECT_EQ(arena.peak(), plan.peak());
    for (const TensorView& view : taken) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % 64, 0U);
    }
    EXPECT_EQ(taken[0].shape, (Shape{3, 5}));
    EXPECT_EQ(static_cast<std::byte*>(taken[1].data) - static_cast<std::byte*>(taken[0].data), 64);
    EXPECT_EQ(taken[1].data, taken[2].data);
}

TEST(Arena, WithOneByteLessThePlanIsRefused) {
    Arena plan("plan");
    lay_out(plan);
    Arena arena("small", plan.peak() - 1, nullptr);
    try {
        lay_out(arena);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::internal);
        EXPECT_THAT(error.what(), AllOf(HasSubstr("small"), HasSubstr("first"), HasSubstr("[100]")));
    }
}

TEST(Arena, TensorThatWasRefusedTakesNothing) {
    Arena arena("a", 128, nullptr);
    (void)arena.take("kept", DType::u8, {64});
    EXPECT_THROW((void)arena.take("large", DType::u8, {65}), Error);
    EXPECT_EQ(arena.mark(), 64U);
    EXPECT_EQ(arena.peak(), 64U);
    EXPECT_NO_THROW((void)arena.take("fits", DType::u8, {64}));
}

TEST(Arena, ContentsAreLeftFromBefore) {
    Arena arena("a", 64, nullptr);
    const std::size_t mark = arena.mark();
    arena.take("x", DType::f32, {2}).as<float>()[1] = 5.0F;
    arena.release(mark);
    EXPECT_EQ(arena.take("y", DType::f32, {2}).as<float>()[1], 5.0F);
}

TEST(Arena, EmptyTensorTakesNothing) {
    Arena arena("a", 64, nullptr);
    (void)arena.take("empty", DType::f32, {0, 8});
    EXPECT_EQ(arena.mark(), 0U);
}

TEST(Arena, ArenaWithoutRoomIsNoPlan) {
    Arena arena("none", 0, nullptr);
    EXPECT_FALSE(arena.planning());
    EXPECT_THROW((void)arena.take("x", DType::u8, {1}), Error);
}

}  // namespace
}  // namespace longhaul
