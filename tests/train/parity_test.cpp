// Ten steps of each fixture model against float64 references: losses, gradient norms, norms by tensor,
// logits.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/hugging_face.h"
#include "model/decoder.h"
#include "train/fixture_run.h"
#include "train/session.h"

namespace longhaul::train {

namespace {

using nlohmann::json;

struct Parity {
    std::string fixture;
    std::string optimizer;
    friend std::ostream& operator<<(std::ostream& out, const Parity& p) {
        return out << p.fixture << " " << p.optimizer;
    }
};

class FixtureParity : public testing::TestWithParam<Parity> {
protected:
    [[nodiscard]] json expected() const {
        return json::parse(read_file(fixture(GetParam().fixture) / "expected.json")).at(GetParam().optimizer);
    }
    [[nodiscard]] spec::Run run(DType precision) const {
        return fixture_spec(
            GetParam().fixture,
            GetParam().optimizer == "lamb" ? spec::OptimizerName::lamb : spec::OptimizerName::adamw,
            precision);
    }
};

void expect_relative(double value, double expected, double tolerance, const std::string& what) {
    EXPECT_LE(std::abs(value - expected), tolerance * std::abs(expected))
        << what << ": " << value << " instead of " << expected;
}

std::vector<Parity> all() {
    std::vector<Parity> list;
    for (const char* name : {"gpt2-tiny", "llama-tiny", "mistral-tiny-window16", "phi-tiny-parallel-block"}) {
        for (const char* optimizer : {"adamw", "lamb"}) list.push_back({name, optimizer});
    }
    return list;
}

}  // namespace

TEST_P(FixtureParity, Fp32FollowsFloat64) {
    const json want = expected();
    const FixtureRun got = run_fixture(GetParam().fixture, run(DType::f32));
    ASSERT_EQ(got.losses.size(), 10U);
    double worst_loss = 0;
    double worst_norm = 0;
    for (std::size_t i = 0; i < 10; ++i) {
        const double loss = want.at("loss").at(i);
        const double norm = want.at("grad_norm").at(i);
        expect_relative(got.losses[i], loss, 2e-6, "loss of step " + std::to_string(i + 1));
        expect_relative(got.grad_norms[i], norm, 2e-5, "gradient norm of step " + std::to_string(i + 1));
        worst_loss = std::max(worst_loss, std::abs(got.losses[i] / loss - 1));
        worst_norm = std::max(worst_norm, std::abs(got.grad_norms[i] / norm - 1));
    }
    RecordProperty("worst_loss", std::to_string(worst_loss));
    std::printf("worst relative deviation: loss %.2g, gradient norm %.2g\n", worst_loss, worst_norm);
    ASSERT_EQ(got.first_tensor_norms.size(), want.at("grad_norm_by_tensor_step1").size());
    for (const auto& [name, norm] : want.at("grad_norm_by_tensor_step1").items()) {
        ASSERT_TRUE(got.first_tensor_norms.contains(name)) << name;
        expect_relative(got.first_tensor_norms.at(name), norm, 2e-5, "gradient norm of " + name);
    }
    for (const auto& [name, norm] : want.at("weight_norm_by_tensor_final").items()) {
        ASSERT_TRUE(got.final_weight_norms.contains(name)) << name;
        expect_relative(got.final_weight_norms.at(name), norm, 2e-6, "weight norm of " + name);
    }
}

TEST_P(FixtureParity, Bf16StaysWithinOnePercent) {
    const json want = expected();
    const FixtureRun got = run_fixture(GetParam().fixture, run(DType::bf16));
    for (std::size_t i = 0; i < 10; ++i)
        expect_relative(got.losses[i], want.at("loss").at(i), 0.01, "loss of step " + std::to_string(i + 1));
}

// Any cut into micro-batches, any recomputation: the same step within fp32 rounding.
TEST_P(FixtureParity, MicroBatchesAndRecomputationDoNotMatter) {
    const json want = expected();
    for (const std::int64_t micro_batch : {1, 2, 4}) {
        spec::Run r = run(DType::f32);
        r.parallel.micro_batch = micro_batch;
        r.parallel.recompute = micro_batch == 2 ? spec::Recompute::full : spec::Recompute::selective;
        const FixtureRun got = run_fixture(GetParam().fixture, r);
        for (std::size_t i = 0; i < 10; ++i) {
            expect_relative(got.losses[i], want.at("loss").at(i), 2e-6,
                            "loss of step " + std::to_string(i + 1));
            expect_relative(got.grad_norms[i], want.at("grad_norm").at(i), 2e-5,
                            "gradient norm of step " + std::to_string(i + 1));
        }
    }
}

TEST_P(FixtureParity, RunsRepeatBitForBit) {
    const FixtureRun a = run_fixture(GetParam().fixture, run(DType::bf16));
    const FixtureRun b = run_fixture(GetParam().fixture, run(DType::bf16));
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.grad_norms, b.grad_norms);
    EXPECT_EQ(a.final_weight_norms, b.final_weight_norms);
}

INSTANTIATE_TEST_SUITE_P(All, FixtureParity, testing::ValuesIn(all()), [](const auto& tested) {
    std::string name = tested.param.fixture + "_" + tested.param.optimizer;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

class FixtureLogits : public testing::TestWithParam<const char*> {};

TEST_P(FixtureLogits, LastLogitsOfThePrompt) {
    const json want = json::parse(read_file(fixture(GetParam()) / "expected.json"));
    const Session session = open_session(fixture(GetParam()), DType::f32);
    model::Decoder decoder(*session.device, *session.model, *session.parameters, session.model->seq, nullptr);
    const auto prompt = want.at("prompt").get<std::vector<std::int32_t>>();
    const auto check = [&](std::span<const float> logits) {
        ASSERT_EQ(logits.size(), want.at("last_logits").size());
        for (std::size_t i = 0; i < logits.size(); ++i)
            EXPECT_NEAR(logits[i], want.at("last_logits").at(i).get<double>(), 1e-4) << i;
    };
    check(decoder.feed(prompt));
    // Token by token through the cache.
    decoder.reset();
    std::span<const float> logits;
    for (const std::int32_t token : prompt) logits = decoder.feed({&token, 1});
    check(logits);
}

INSTANTIATE_TEST_SUITE_P(All, FixtureLogits,
                         testing::Values("gpt2-tiny", "llama-tiny", "mistral-tiny-window16",
                                         "phi-tiny-parallel-block"),
                         [](const auto& tested) {
                             std::string name = tested.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace longhaul::train
