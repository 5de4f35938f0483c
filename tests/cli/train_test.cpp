// The train command through its whole life: runs, resumes bit for bit after every kind of end, refuses what
// it must.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "cli/run_files.h"

namespace longhaul::cli {

namespace {

namespace fs = std::filesystem;

class Train : public testing::Test {
protected:
    void SetUp() override {
        write_batches(folder_ / "batches.npy", 20, 4, 16, 512, 1);
        write_text(folder_ / "config.toml", tiny_config(folder_ / "batches.npy", 20));
    }
    [[nodiscard]] Finished train(const std::string& run, std::vector<std::string> more = {}) const {
        std::vector<std::string> arguments = {"train", folder_ / "config.toml", "--run-dir", folder_ / run};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return longhaul(arguments);
    }
    // The run without interruption that others are compared with.
    void expect_like_uninterrupted(const std::string& run) const {
        if (!fs::exists(folder_ / "whole")) {
            const Finished whole = train("whole");
            ASSERT_EQ(whole.status, 0) << whole.err;
        }
        EXPECT_EQ(losses(folder_ / "whole"), losses(folder_ / run));
        EXPECT_EQ(tensor_files(step_folder(folder_ / "whole", 20)),
                  tensor_files(step_folder(folder_ / run, 20)));
    }
    ScratchFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_F(Train, B1_resume_is_bit_for_bit) {
    ASSERT_EQ(train("cut", {"--set", "train.steps=10"}).status, 0);
    EXPECT_EQ(losses(folder_ / "cut").size(), 10U);
    const Finished second = train("cut");
    ASSERT_EQ(second.status, 0) << second.err;
    EXPECT_TRUE(contains(second.err, "resuming from")) << second.err;
    EXPECT_EQ(losses(folder_ / "cut").size(), 20U);
    expect_like_uninterrupted("cut");
}

TEST_F(Train, SignalsSaveThenEndWithTheirStatus) {
    for (const auto& [number, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
        const std::string run = "signal" + std::to_string(number);
        Process process({"train", folder_ / "config.toml", "--run-dir", folder_ / run});
        ASSERT_TRUE(process.wait_until([&] {
            return fs::exists(folder_ / (run + "/metrics.jsonl")) &&
                   !read_text(folder_ / (run + "/metrics.jsonl")).empty();
        }));
        process.signal(number);
        const Finished finished = process.wait();
        if (finished.status == 0) continue;  // it was done before the signal came
        EXPECT_EQ(finished.status, status) << finished.err;
        const auto before = losses(folder_ / run);
        ASSERT_FALSE(before.empty());
        EXPECT_TRUE(fs::exists(step_folder(folder_ / run, before.rbegin()->first)));
        ASSERT_EQ(train(run).status, 0);
        expect_like_uninterrupted(run);
    }
}

TEST_F(Train, KilledRunsContinueBitForBit) {
    for (const std::size_t after : {std::size_t{1}, std::size_t{9}}) {
        const std::string run = "killed" + std::to_string(after);
        {
            Process process({"train", folder_ / "config.toml", "--run-dir", folder_ / run, "--set",
                             "checkpoint.every=3"});
            process.wait_until([&] {
                const std::string text = read_text(folder_ / (run + "/metrics.jsonl"));
                return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) >= after;
            });
            process.signal(SIGKILL);
            process.wait();
        }
        const Finished second = train(run, {"--set", "checkpoint.every=3"});
        ASSERT_EQ(second.status, 0) << second.err;
        expect_like_uninterrupted(run);
    }
}

TEST_F(Train, DamagedNewestCheckpointIsPassedOverWithAStatement) {
    ASSERT_EQ(train("torn", {"--set", "train.steps=10", "--set", "checkpoint.every=5"}).status, 0);
    const fs::path newest = step_folder(folder_ / "torn", 10);
    for (const auto& entry : fs::directory_iterator(newest)) {
        if (entry.path().filename().string().starts_with("model"))
            fs::resize_file(entry.path(), entry.file_size() - 1);
    }
    const Finished second = train("torn");
    ASSERT_EQ(second.status, 0) << second.err;
    EXPECT_TRUE(contains(second.err, "step-00000010")) << second.err;
    EXPECT_TRUE(contains(second.err, "step-00000005")) << second.err;
    EXPECT_EQ(losses(folder_ / "torn").size(), 20U);
    expect_like_uninterrupted("torn");
}

TEST_F(Train, B3_no_silent_fresh_start) {
    // Nothing but damaged checkpoints.
    ASSERT_EQ(train("bad", {"--set", "train.steps=5"}).status, 0);
    fs::remove(step_folder(folder_ / "bad", 5) / "manifest.json");
    const Finished damaged = train("bad");
    EXPECT_EQ(damaged.status, 3) << damaged.err;
    EXPECT_TRUE(contains(damaged.err, "step-00000005")) << damaged.err;
    // An empty folder of checkpoints, and a foreign one.
    fs::create_directories(folder_ / "empty/checkpoints");
    EXPECT_EQ(train("empty").status, 3);
    fs::create_directories(folder_ / "foreign/checkpoints/something");
    EXPECT_EQ(train("foreign").status, 3);
    // A checkpoint that isn't there.
    EXPECT_EQ(train("absent", {"--resume", folder_ / "nowhere"}).status, 3);
}

TEST_F(Train, NeverStartsOverAndKeepsTheOldCheckpoints) {
    ASSERT_EQ(train("again", {"--set", "train.steps=5"}).status, 0);
    const auto first = losses(folder_ / "again");
    const Finished second = train("again", {"--set", "train.steps=5", "--resume", "never"});
    ASSERT_EQ(second.status, 0) << second.err;
    EXPECT_EQ(losses(folder_ / "again"), first);
    int folders = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / "again"))
        folders += entry.path().filename().string().starts_with("checkpoints") ? 1 : 0;
    EXPECT_EQ(folders, 2);
}

TEST_F(Train, R2_finished_run_says_that_nothing_is_left) {
    ASSERT_EQ(train("done", {"--set", "train.steps=5"}).status, 0);
    const Finished second = train("done", {"--set", "train.steps=5"});
    EXPECT_EQ(second.status, 0);
    EXPECT_TRUE(contains(second.err, "nothing is left to train")) << second.err;
    EXPECT_EQ(losses(folder_ / "done").size(), 5U);
}

TEST_F(Train, B7_other_data_is_refused) {
    ASSERT_EQ(train("data", {"--set", "train.steps=5"}).status, 0);
    write_batches(folder_ / "batches.npy", 20, 4, 16, 512, 2);
    const Finished second = train("data");
    EXPECT_EQ(second.status, 2) << second.err;
    EXPECT_TRUE(contains(second.err, "data")) << second.err;
}

TEST_F(Train, OtherModelOrOptimizerIsRefusedWithTheDifference) {
    ASSERT_EQ(train("model", {"--set", "train.steps=5"}).status, 0);
    const Finished other = train("model", {"--set", "model.hidden=128"});
    EXPECT_EQ(other.status, 2);
    EXPECT_TRUE(contains(other.err, "hidden: 64 in the checkpoint, 128 here")) << other.err;
    EXPECT_EQ(train("model", {"--set", "optimizer.name=lamb"}).status, 2);
}

TEST_F(Train, FaultsOfAConfigurationComeAllAtOnceWithLines) {
    write_text(folder_ / "config.toml",
               "[model]\nlayers = 0\nhiden = 64\n[train]\nglobal_batch = 6\nprecision = "
               "\"fp8\"\n[parallel]\nmicro_batch = 4\n");
    const Finished finished = train("bad");
    EXPECT_EQ(finished.status, 2);
    for (const char* part : {"config.toml:2", "config.toml:3", "did you mean model.hidden", "config.toml:6",
                             "nearest that does: 3"}) {
        EXPECT_TRUE(contains(finished.err, part)) << part << "\n" << finished.err;
    }
    EXPECT_FALSE(fs::exists(folder_ / "bad"));
}

TEST_F(Train, MissingOrBrokenDataIsNamed) {
    fs::resize_file(folder_ / "batches.npy", 1000);
    const Finished torn = train("torn");
    EXPECT_EQ(torn.status, 3);
    EXPECT_TRUE(contains(torn.err, "batches.npy")) << torn.err;
    fs::remove(folder_ / "batches.npy");
    const Finished missing = train("missing");
    EXPECT_EQ(missing.status, 3);
    EXPECT_TRUE(contains(missing.err, "batches.npy")) << missing.err;
    EXPECT_EQ(longhaul({"train", folder_ / "nothing.toml"}).status, 2);
    EXPECT_EQ(longhaul({"train"}).status, 2);
}

TEST_F(Train, BatchesThatEndEarlyAreAnError) {
    const Finished finished = train("short", {"--set", "train.steps=25"});
    EXPECT_EQ(finished.status, 3) << finished.err;
    EXPECT_TRUE(contains(finished.err, "20")) << finished.err;
}

TEST_F(Train, StepsThatAreNotFiniteStopTheRunWithAdvice) {
    const Finished finished = train(
        "nan", {"--set", "optimizer.lr=1e6", "--set", "optimizer.grad_clip=0", "--set",
                "fault.max_bad_steps=2", "--set", "optimizer.eps=0", "--set", "optimizer.weight_decay=100"});
    EXPECT_EQ(finished.status, 4) << finished.err;
    EXPECT_TRUE(contains(finished.err, "optimizer.lr")) << finished.err;
    EXPECT_TRUE(contains(finished.err, "skipped")) << finished.err;
    const auto kinds = event_kinds(folder_ / "nan");
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "skip"), 2);
}

TEST_F(Train, JsonIsAloneOnStandardOutput) {
    const Finished finished = train("json", {"--json", "--set", "train.steps=3"});
    ASSERT_EQ(finished.status, 0) << finished.err;
    const auto document = nlohmann::json::parse(finished.out);
    EXPECT_EQ(document.at("last_step"), 3);
    EXPECT_EQ(document.at("last_loss").get<double>(), losses(folder_ / "json").at(3));
    // What was planned is what was used.
    EXPECT_NEAR(document.at("used_bytes").get<double>(), document.at("planned_bytes").get<double>(),
                0.05 * document.at("planned_bytes").get<double>());
}

TEST_F(Train, RunDirectoryHoldsWhatTheContractSays) {
    ASSERT_EQ(train("dir", {"--set", "train.steps=3"}).status, 0);
    for (const char* name :
         {"config.toml", "metrics.jsonl", "events.jsonl", "checkpoints/latest",
          "checkpoints/step-00000003/manifest.json", "logs/rank-00000.log", "tensorboard"}) {
        EXPECT_TRUE(fs::exists(folder_.path() / "dir" / name)) << name;
    }
    // The resolved configuration runs to the same losses.
    const Finished again = longhaul({"train", folder_ / "dir/config.toml", "--run-dir", folder_ / "again"});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(losses(folder_ / "dir"), losses(folder_ / "again"));
    EXPECT_EQ(event_kinds(folder_ / "dir").front(), "start");
    EXPECT_EQ(event_kinds(folder_ / "dir").back(), "end");
}

// Switches that must not change a number.
TEST_F(Train, PrefetchObservationAndRecomputationChangeNothing) {
    ASSERT_EQ(train("plain").status, 0);
    const auto want = losses(folder_ / "plain");
    const std::vector<std::vector<std::string>> changes = {
        {"--set", "data.prefetch=0"},
        {"--set", "parallel.recompute=full"},
        {"--set", "parallel.recompute=selective"},
        {"--set", "observe.tensorboard=false"},
        {"--set", "observe.tensor_norms=true", "--set", "observe.check_invariants=true"},
        {"--set", "train.threads=1"}};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const std::string run = "changed" + std::to_string(i);
        const Finished finished = train(run, changes[i]);
        ASSERT_EQ(finished.status, 0) << finished.err;
        EXPECT_EQ(losses(folder_ / run), want) << changes[i][1];
    }
    EXPECT_FALSE(fs::exists(folder_ / "changed3/tensorboard"));
    EXPECT_TRUE(fs::exists(folder_ / "changed4/tensor_norms.jsonl"));
    EXPECT_FALSE(fs::exists(folder_ / "plain/tensor_norms.jsonl"));
}

TEST_F(Train, TwoTrainersCanNotShareARunDirectory) {
    Process first({"train", folder_ / "config.toml", "--run-dir", folder_ / "shared"});
    ASSERT_TRUE(first.wait_until([&] { return fs::exists(folder_ / "shared/metrics.jsonl"); }));
    first.signal(SIGSTOP);
    const Finished second = train("shared");
    first.signal(SIGCONT);
    EXPECT_EQ(second.status, 2) << second.err;
    EXPECT_EQ(first.wait().status, 0);
}

}  // namespace longhaul::cli
