// bench gemm, memory and step as a user runs them: documents that parse, figures that agree with each other.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"

namespace longhaul::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json document(const std::vector<std::string>& arguments) {
    const Finished done = longhaul(arguments);
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out);
}

std::vector<std::string> step(std::vector<std::string> more) {
    std::vector<std::string> all{"bench", "step",          "--preset", "gpt2-tiny", "--batch",
                                 "4",     "--micro-batch", "2",        "--steps",   "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST(BenchCommand, StepReportsBothPrecisions) {
    const json d = document(step({"--json"}));
    EXPECT_EQ(d["global_batch"], 4);
    EXPECT_EQ(d["micro_batch"], 2);
    EXPECT_EQ(d["seq"], 64);
    ASSERT_EQ(d["results"].size(), 2U);
    for (const json& r : d["results"]) {
        EXPECT_EQ(r["steps"], 2);
        EXPECT_GT(r["tokens_per_s"], 0);
        const double flops = r["flops_per_token"].get<double>() * r["tokens_per_s"].get<double>();
        EXPECT_NEAR(r["mfu"], flops / r["peak_flops"].get<double>(), 1e-6);
        EXPECT_NEAR(r["tokens_per_s"].get<double>() * r["step_ms"].get<double>() / 1e3, 4 * 64, 1e-6);
        EXPECT_FALSE(r.contains("breakdown"));
    }
    EXPECT_EQ(d["results"][0]["precision"], "fp32");
    EXPECT_EQ(d["results"][1]["precision"], "bf16");
}

TEST(BenchCommand, BreakdownCoversTheStep) {
    const json d = document(step({"--precision", "fp32", "--breakdown", "--json"}));
    const json& b = d["results"][0]["breakdown"];
    double ops = 0;
    bool attention = false;
    bool optimizer = false;
    for (const json& op : b["ops"]) {
        ops += op["ms"].get<double>();
        attention |= op["op"] == "attention_backward" && op["calls"] == 8;  // 4 layers, 2 micro-batches
        optimizer |= op["op"] == "adamw_update";
        EXPECT_THAT(op["bound"], testing::AnyOf("memory", "compute"));
    }
    EXPECT_TRUE(attention);
    EXPECT_TRUE(optimizer);
    EXPECT_NEAR(b["product_ms"].get<double>() + b["other_ops_ms"].get<double>(), ops, 1e-6 * ops);
}

TEST(BenchCommand, BreakdownIsATableForPeople) {
    const Finished done = longhaul(step({"--precision", "bf16", "--breakdown"}));
    EXPECT_EQ(done.status, 0) << done.err;
    for (const char* word : {"tokens/s", "MFU", "linear_weight_grad", "attention_forward", "cross_entropy",
                             "matrix products, attention included", "outside ops"})
        EXPECT_THAT(done.out, HasSubstr(word));
}

TEST(BenchCommand, GemmAndMemory) {
    const json gemm = document({"bench", "gemm", "-m", "33", "-n", "40", "-k", "20", "--seconds", "0.01",
                                "--precision", "fp32", "--json"});
    ASSERT_EQ(gemm["results"].size(), 1U);
    EXPECT_EQ(gemm["results"][0]["products"].size(), 3U);
    const json memory = document({"bench", "memory", "--mebibytes", "8", "--seconds", "0.01", "--json"});
    ASSERT_EQ(memory["results"].size(), 3U);
    EXPECT_GT(memory["peak_bytes_per_s"], 0);
}

TEST(BenchCommand, MistakesAreRefused) {
    EXPECT_EQ(longhaul({"bench"}).status, 2);
    EXPECT_EQ(longhaul({"bench", "step", "--batch", "0"}).status, 2);
    EXPECT_EQ(longhaul({"bench", "step", "--precision", "fp8"}).status, 2);
    const Finished uneven = longhaul(step({"--micro-batch", "3"}));
    EXPECT_EQ(uneven.status, 2);
    const Finished unknown = longhaul({"bench", "step", "--preset", "no-such-model"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.err, HasSubstr("gpt2-124m"));
}

}  // namespace longhaul::cli
