// Shares of the limits from known times, operations and bytes.
#include "train/breakdown.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace longhaul::train {

namespace {

using testing::HasSubstr;

StepBenchmark two_steps() {
    StepBenchmark b;
    b.steps = 2;
    b.step_ms_mean = 1000;
    b.peak_flops = 100e9;
    kernels::OpRecord norm;
    norm.op = "layernorm_forward";
    norm.calls = 4;
    norm.seconds = 0.2;
    norm.bytes = 1e9;
    kernels::OpRecord product;
    product.op = "linear_forward";
    product.extents = "8 x 8 x 8";
    product.product = true;
    product.calls = 2;
    product.seconds = 1.6;
    product.flops = 120e9;
    product.bytes = 1e9;
    b.ops = {norm, product};
    return b;
}

}  // namespace

TEST(Breakdown, OneStepAgainstTheLimits) {
    const Breakdown b = break_down(two_steps(), 10e9);
    ASSERT_EQ(b.lines.size(), 2U);
    EXPECT_EQ(b.lines[0].op, "linear_forward");  // the longest first
    EXPECT_DOUBLE_EQ(b.lines[0].calls, 1);
    EXPECT_DOUBLE_EQ(b.lines[0].seconds, 0.8);
    EXPECT_DOUBLE_EQ(b.lines[0].limit_seconds, 0.6);  // 60 GFLOP at 100 GFLOP/s
    EXPECT_FALSE(b.lines[0].by_memory);
    EXPECT_DOUBLE_EQ(b.lines[1].seconds, 0.1);
    EXPECT_DOUBLE_EQ(b.lines[1].limit_seconds, 0.05);  // 0.5 GB at 10 GB/s
    EXPECT_TRUE(b.lines[1].by_memory);
    EXPECT_DOUBLE_EQ(b.product_seconds, 0.8);
    EXPECT_DOUBLE_EQ(b.other_seconds, 0.1);
    EXPECT_NEAR(b.outside_seconds, 0.1, 1e-12);
}

TEST(Breakdown, TableNamesShareAndBound) {
    const std::string text = breakdown_text(break_down(two_steps(), 10e9));
    EXPECT_THAT(text, HasSubstr("limits: 100.0 GFLOP/s, 10.0 GB/s"));
    EXPECT_THAT(text,
                testing::ContainsRegex("linear_forward +8 x 8 x 8 +1 +800.00 +80.0% .* compute +75.0%"));
    EXPECT_THAT(text, testing::ContainsRegex("layernorm_forward .* memory +50.0%"));
    EXPECT_THAT(text, testing::ContainsRegex("outside ops +100.00 +10.0%"));
}

TEST(Breakdown, NeedsStepsThatWereTimedByOp) {
    StepBenchmark none = two_steps();
    none.ops.clear();
    EXPECT_THROW((void)break_down(none, 10e9), Error);
    EXPECT_THROW((void)break_down(two_steps(), 0), Error);
}

}  // namespace longhaul::train
