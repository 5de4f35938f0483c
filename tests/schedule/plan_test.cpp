// The one-rank step plan: each action once, dependencies backwards in time, one micro-batch in flight.
#include "schedule/plan.h"

#include <gtest/gtest.h>

namespace longhaul::schedule {

TEST(StepPlan, EveryActionOnceAndInOrder) {
    for (const std::int64_t micro_batches : {1, 2, 7, 64}) {
        const auto plan = make_step_plan({micro_batches});
        ASSERT_EQ(std::ssize(plan), 2 * micro_batches + 2);
        EXPECT_EQ(plan.front().kind, ActionKind::load);
        EXPECT_EQ(plan.back().kind, ActionKind::optimizer_step);
        std::int64_t live = 0;
        for (std::size_t i = 0; i < plan.size(); ++i) {
            for (const std::size_t before : plan[i].after) EXPECT_LT(before, i);
            EXPECT_EQ(plan[i].after.empty(), i == 0);
            if (plan[i].kind == ActionKind::forward) ++live;
            if (plan[i].kind == ActionKind::backward) --live;
            EXPECT_GE(live, 0);
            EXPECT_LE(live, 1);
        }
        EXPECT_EQ(live, 0);
    }
}

TEST(StepPlan, PrintsOneLineAnAction) {
    EXPECT_EQ(text(make_step_plan({1})),
              "0 load\n1 forward chunk 0 micro-batch 0 after 0\n2 backward chunk 0 micro-batch 0 after 1\n3 "
              "optimizer step after 2\n");
}

}  // namespace longhaul::schedule
