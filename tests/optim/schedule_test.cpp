// Learning-rate schedules: ends, shapes, and that none rises again past its end.
#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace longhaul::optim {

namespace {

spec::Optimizer options(spec::Schedule schedule, std::int64_t warmup, std::int64_t decay_steps) {
    spec::Optimizer o;
    o.schedule = schedule;
    o.lr = 1.0;
    o.min_lr = 0.1;
    o.warmup = warmup;
    o.decay_steps = decay_steps;
    return o;
}

}  // namespace

TEST(LearningRate, WarmUpRisesInALine) {
    for (const auto schedule :
         {spec::Schedule::constant, spec::Schedule::cosine, spec::Schedule::linear, spec::Schedule::wsd}) {
        const auto o = options(schedule, 10, 0);
        EXPECT_DOUBLE_EQ(learning_rate(o, 100, 1), 0.1);
        EXPECT_DOUBLE_EQ(learning_rate(o, 100, 5), 0.5);
        EXPECT_DOUBLE_EQ(learning_rate(o, 100, 10), 1.0);
    }
}

TEST(LearningRate, EndsAtTheMinimumAndStaysThere) {
    for (const auto schedule : {spec::Schedule::cosine, spec::Schedule::linear, spec::Schedule::wsd}) {
        for (const std::int64_t decay : {std::int64_t{0}, std::int64_t{40}}) {
            const auto o = options(schedule, 10, decay);
            const std::int64_t end = decay == 0 || schedule == spec::Schedule::wsd ? 100 : decay;
            EXPECT_NEAR(learning_rate(o, 100, end), 0.1, 1e-12);
            for (std::int64_t step = end; step < end + 500; ++step)
                EXPECT_NEAR(learning_rate(o, 100, step), 0.1, 1e-12) << step;
        }
    }
}

TEST(LearningRate, NeverRisesAfterTheWarmUp) {
    for (const auto schedule :
         {spec::Schedule::constant, spec::Schedule::cosine, spec::Schedule::linear, spec::Schedule::wsd}) {
        for (const std::int64_t warmup : {0, 1, 7, 100}) {
            const auto o = options(schedule, warmup, 0);
            double before = learning_rate(o, 100, std::max<std::int64_t>(1, warmup));
            for (std::int64_t step = warmup + 1; step < 300; ++step) {
                const double now = learning_rate(o, 100, step);
                EXPECT_LE(now, before) << step;
                before = now;
            }
        }
    }
}

TEST(LearningRate, KnownPoints) {
    EXPECT_NEAR(learning_rate(options(spec::Schedule::cosine, 0, 0), 100, 50), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate(options(spec::Schedule::cosine, 0, 0), 100, 25),
                0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi / 4)), 1e-12);
    EXPECT_NEAR(learning_rate(options(spec::Schedule::linear, 20, 0), 120, 70), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate(options(spec::Schedule::wsd, 0, 20), 100, 80), 1.0, 1e-12);
    EXPECT_NEAR(learning_rate(options(spec::Schedule::wsd, 0, 20), 100, 90), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate(options(spec::Schedule::wsd, 0, 0), 100, 95), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate(options(spec::Schedule::constant, 0, 0), 100, 1000), 1.0, 1e-12);
}

}  // namespace longhaul::optim
