// Progress: plain lines now and then where there is no terminal, one line drawn anew where there is.
#include "observe/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace longhaul::observe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ProgressLines : public testing::Test {
protected:
    ProgressOptions options(bool terminal) {
        return {.total = 10,
                .first = 0,
                .log_every = 4,
                .terminal = terminal,
                .columns = 100,
                .write = [this](std::string_view text) { written_.emplace_back(text); }};
    }
    static StepMetrics at_step(std::int64_t step) {
        StepMetrics m;
        m.step = step;
        m.loss = 3.25;
        m.grad_norm = 0.5;
        m.lr = 6e-4;
        m.tokens_per_s = 1234.4;
        m.mfu = 0.5;
        return m;
    }
    std::vector<std::string> written_;
};

TEST_F(ProgressLines, WithoutATerminalOneEveryFewStepsAndTheLast) {
    {
        Progress progress(options(false));
        for (int step = 1; step <= 10; ++step) progress.step(at_step(step));
    }
    EXPECT_THAT(written_, ElementsAre(StartsWith("step 4/10  "), StartsWith("step 8/10  "),
                                      StartsWith("step 10/10  ")));
    EXPECT_THAT(written_[0],
                AllOf(HasSubstr("loss 3.2500"), HasSubstr("1234 tokens/s"), HasSubstr("MFU 50.0%"),
                      HasSubstr("ETA "), HasSubstr("grad norm 0.500"), HasSubstr("lr 0.0006")));
    for (const std::string& line : written_) {
        EXPECT_THAT(line, AllOf(EndsWith("\n"), Not(HasSubstr("\r")), Not(HasSubstr("\033"))));
        EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    }
}

TEST_F(ProgressLines, OnATerminalTheLineIsDrawnAnew) {
    {
        Progress progress(options(true));
        progress.step(at_step(1));
        progress.step(at_step(2));  // too soon to be drawn
        progress.step(at_step(10));
    }
    EXPECT_THAT(written_, ElementsAre(StartsWith("\r\033[K1/10 ["), StartsWith("\r\033[K10/10 ["), "\n"));
}

TEST_F(ProgressLines, InterruptionClearsTheLineAndTheNextStepDrawsIt) {
    Progress progress(options(true));
    progress.interrupt();
    EXPECT_THAT(written_, testing::IsEmpty());
    progress.step(at_step(1));
    progress.interrupt();
    progress.step(at_step(2));
    EXPECT_THAT(written_, ElementsAre(HasSubstr("1/10"), "\r\033[K", HasSubstr("2/10")));
}

TEST_F(ProgressLines, FitsEveryWidth) {
    for (int columns = 1; columns <= 150; ++columns) {
        ProgressOptions o = options(true);
        o.columns = columns;
        written_.clear();
        Progress(o).step(at_step(3));
        ASSERT_FALSE(written_.empty());
        const std::string line = written_[0].substr(std::string("\r\033[K").size());
        EXPECT_LT(line.size(), static_cast<std::size_t>(std::max(columns, 2))) << columns;
    }
}

TEST_F(ProgressLines, BarFillsWithTheSteps) {
    for (const std::int64_t step : {0, 5, 10}) {
        written_.clear();
        Progress(options(true)).step(at_step(step));
        EXPECT_EQ(std::count(written_[0].begin(), written_[0].end(), '#'), 3 * step);
        EXPECT_EQ(std::count(written_[0].begin(), written_[0].end(), '['),
                  2);  // one is of the escape sequence
    }
}

// A run that was longer when it was interrupted, or a total that shrank: a full bar, no fault.
TEST_F(ProgressLines, StepBeyondTheTotalIsAFullBar) {
    Progress(options(true)).step(at_step(25));
    EXPECT_EQ(std::count(written_[0].begin(), written_[0].end(), '#'), 30);
}

TEST_F(ProgressLines, NumbersThatAreNotFiniteAreShown) {
    StepMetrics m = at_step(4);
    m.loss = std::nan("");
    m.grad_norm = INFINITY;
    Progress(options(false)).step(m);
    EXPECT_THAT(written_, ElementsAre(AllOf(HasSubstr("loss nan"), HasSubstr("grad norm inf"))));
}

TEST_F(ProgressLines, TimeLeftCountsOnlyThisProcess) {
    ProgressOptions o = options(false);
    o.first = 4;
    Progress progress(o);
    progress.step(at_step(4));  // nothing made yet, so nothing to judge by
    EXPECT_THAT(written_, ElementsAre(HasSubstr("ETA 0s")));
}

}  // namespace
}  // namespace longhaul::observe
