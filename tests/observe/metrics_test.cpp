// metrics.jsonl: lines that read back to the same bits, torn ends, and what a resumed run removes.
#include "observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/temp_folder.h"

namespace longhaul::observe {
namespace {

using test::message_of;
using test::TempFolder;
using testing::ElementsAre;
using testing::HasSubstr;

StepMetrics at_step(std::int64_t step) {
    StepMetrics m;
    m.step = step;
    m.loss = 1.0 / 3.0 + static_cast<double>(step);
    m.grad_norm = 0.1;
    m.lr = 5e-324;
    m.tokens = 1000 * step;
    m.step_ms = 12.5;
    m.tokens_per_s = 1.7976931348623157e308;
    m.mfu = 0.41;
    m.bubble_ms = 0.5;
    m.exposed_comm_ms = 0.25;
    m.data_wait_ms = 3;
    m.checkpoint_stall_ms = 4;
    m.restarts = 2;
    return m;
}

// What a log of two steps holds.
std::string two_steps(const TempFolder& folder) {
    MetricsLog log(folder / "m", 0);
    log.append(at_step(1));
    log.append(at_step(2));
    return read_file(folder / "m");
}

std::vector<std::int64_t> steps(const std::filesystem::path& path) {
    std::vector<std::int64_t> all;
    for (const StepMetrics& m : read_metrics(path)) all.push_back(m.step);
    return all;
}

TEST(Metrics, ReadBackToTheSameBits) {
    const TempFolder folder;
    StepMetrics written = at_step(7);
    written.skipped = true;
    written.validation_loss = 2.0 / 3.0;
    MetricsLog(folder / "m", 0).append(written);
    const auto all = read_metrics(folder / "m");
    ASSERT_EQ(all.size(), 1U);
    const StepMetrics& read = all[0];
    EXPECT_EQ(read.step, written.step);
    EXPECT_EQ(read.loss, written.loss);
    EXPECT_EQ(read.grad_norm, written.grad_norm);
    EXPECT_EQ(read.lr, written.lr);
    EXPECT_EQ(read.tokens, written.tokens);
    EXPECT_EQ(read.step_ms, written.step_ms);
    EXPECT_EQ(read.tokens_per_s, written.tokens_per_s);
    EXPECT_EQ(read.mfu, written.mfu);
    EXPECT_EQ(read.bubble_ms, written.bubble_ms);
    EXPECT_EQ(read.exposed_comm_ms, written.exposed_comm_ms);
    EXPECT_EQ(read.data_wait_ms, written.data_wait_ms);
    EXPECT_EQ(read.checkpoint_stall_ms, written.checkpoint_stall_ms);
    EXPECT_EQ(read.restarts, written.restarts);
    EXPECT_TRUE(read.skipped);
    EXPECT_EQ(read.validation_loss, written.validation_loss);
}

TEST(Metrics, LineIsOneJsonObjectWithoutWhatDidNotHappen) {
    const TempFolder folder;
    MetricsLog(folder / "m", 0).append(at_step(1));
    const std::string text = read_file(folder / "m");
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    EXPECT_TRUE(text.starts_with("{\"step\":1,\"loss\":"));
    const auto object = nlohmann::json::parse(text);
    EXPECT_EQ(object.size(), 13U);
    EXPECT_FALSE(object.contains("skipped"));
    EXPECT_FALSE(object.contains("validation_loss"));
    EXPECT_EQ(read_metrics(folder / "m")[0].validation_loss, std::nullopt);
    EXPECT_FALSE(read_metrics(folder / "m")[0].skipped);
}

TEST(Metrics, WhatIsNotFiniteIsNullAndComesBackAsNan) {
    const TempFolder folder;
    StepMetrics m = at_step(1);
    m.loss = std::nan("");
    m.grad_norm = std::numeric_limits<double>::infinity();
    m.validation_loss = -std::numeric_limits<double>::infinity();
    MetricsLog(folder / "m", 0).append(m);
    const auto object = nlohmann::json::parse(read_file(folder / "m"));
    EXPECT_TRUE(object["loss"].is_null());
    EXPECT_TRUE(object["grad_norm"].is_null());
    EXPECT_TRUE(object["validation_loss"].is_null());
    const StepMetrics read = read_metrics(folder / "m")[0];
    EXPECT_TRUE(std::isnan(read.loss));
    EXPECT_TRUE(std::isnan(read.grad_norm));
    ASSERT_TRUE(read.validation_loss.has_value());
    EXPECT_TRUE(std::isnan(*read.validation_loss));
}

TEST(Metrics, EveryTearOfTheLastLineIsPassedOver) {
    const TempFolder folder;
    const std::string whole = two_steps(folder);
    const std::size_t second = whole.find('\n') + 1;
    for (std::size_t keep = second; keep < whole.size() - 1; ++keep)
        EXPECT_THAT(steps(folder.write("torn", whole.substr(0, keep))), ElementsAre(1)) << keep;
    // Only the line's end is missing: nothing of it is lost.
    EXPECT_THAT(steps(folder.write("torn", whole.substr(0, whole.size() - 1))), ElementsAre(1, 2));
}

TEST(Metrics, TearIsMendedByTheNextProcess) {
    const TempFolder folder;
    const std::string whole = two_steps(folder);
    const std::size_t second = whole.find('\n') + 1;
    // Not at every byte, since each repair is an fsync.
    for (const std::size_t keep :
         {second, second + 1, second + 9, whole.size() - 2, whole.size() - 1, whole.size()}) {
        const std::string path = folder.write("torn", whole.substr(0, keep));
        MetricsLog log(path, 1);
        log.append(at_step(2));
        EXPECT_EQ(read_file(path), whole) << keep;
    }
}

TEST(Metrics, ResumeRemovesLaterSteps) {
    const TempFolder folder;
    {
        MetricsLog log(folder / "m", 0);
        for (int step = 1; step <= 6; ++step) log.append(at_step(step));
    }
    {
        MetricsLog log(folder / "m", 4);
        EXPECT_THAT(steps(folder / "m"), ElementsAre(1, 2, 3, 4));
        log.append(at_step(5));
    }
    EXPECT_THAT(steps(folder / "m"), ElementsAre(1, 2, 3, 4, 5));
    MetricsLog(folder / "m", 100);
    EXPECT_THAT(steps(folder / "m"), ElementsAre(1, 2, 3, 4, 5));
    MetricsLog(folder / "m", 0);
    EXPECT_THAT(steps(folder / "m"), testing::IsEmpty());
    EXPECT_THAT(folder.names(), ElementsAre("m"));
}

TEST(Metrics, TruncationOfAFileThatIsMissingIsNothing) {
    const TempFolder folder;
    truncate_after(folder / "missing", 3);
    EXPECT_THAT(folder.names(), testing::IsEmpty());
}

TEST(Metrics, LineThatIsNoneIsNamed) {
    const TempFolder folder;
    const std::string good = "{\"step\":1,\"loss\":1.0}\n";
    for (const char* bad : {"nonsense", "[1]", "{\"loss\":1}", "{\"step\":\"1\"}", "{\"step\":1.5}",
                            "{\"step\":2,\"tokens\":\"many\"}", "{\"step\":2,\"restarts\":[]}",
                            "{\"step\":2,\"skipped\":1}", "{\"step\":2,\"loss\":1.0"}) {
        const std::string path = folder.write("m", good + bad + "\n" + good);
        try {
            (void)read_metrics(path);
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_data);
            EXPECT_THAT(error.what(), HasSubstr(path + ":2")) << bad;
        }
    }
    EXPECT_THAT(message_of([&] { (void)read_metrics(folder / "missing"); }), HasSubstr("missing"));
}

TEST(AppendFile, EndsATornLineOfAnEarlierProcess) {
    const TempFolder folder;
    const std::string path = folder.write("a", "whole\ntor");
    AppendFile(path).append("next");
    EXPECT_EQ(read_file(path), "whole\ntor\nnext\n");
    AppendFile(path).append("more");
    EXPECT_EQ(read_file(path), "whole\ntor\nnext\nmore\n");
}

TEST(AppendFile, NamesPathAndReason) {
    const TempFolder folder;
    EXPECT_THAT(message_of([&] { const AppendFile file(folder / "no/a"); }),
                AllOf(HasSubstr(folder / "no/a"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace longhaul::observe
