// Relations between options: what is refused names the nearest that would be taken, and that one is taken.
#include "spec/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace longhaul::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Faults of the default run, changed.
std::vector<std::string> with(const std::function<void(Run&)>& change) {
    spec::Run run;
    change(run);
    return faults(run);
}

Model modern() {
    Model m;
    m.family = Family::llama;
    m.norm = Norm::rmsnorm;
    m.activation = Activation::swiglu;
    m.positions = Positions::rope;
    m.bias = m.qkv_bias = false;
    return m;
}

TEST(Validate, DefaultsAreSound) {
    EXPECT_THAT(faults(spec::Run()), IsEmpty());
}

TEST(Validate, MicroBatchDividesTheBatch) {
    const auto batch = [](std::int64_t global, std::int64_t micro) {
        return with([&](spec::Run& run) {
            run.train.global_batch = global;
            run.parallel.micro_batch = micro;
        });
    };
    EXPECT_THAT(batch(12, 5),
                ElementsAre(HasSubstr("parallel.micro_batch = 5 does not divide train.global_batch = "
                                      "12; nearest that does: 4")));
    EXPECT_THAT(batch(12, 10), ElementsAre(HasSubstr("nearest that does: 12")));
    EXPECT_THAT(batch(12, 9), ElementsAre(HasSubstr("nearest that does: 6")));  // 6 and 12 are as near
    EXPECT_THAT(batch(12, 8), ElementsAre(HasSubstr("nearest that does: 6")));
    EXPECT_THAT(batch(7, 3), ElementsAre(HasSubstr("nearest that does: 1")));
    EXPECT_THAT(batch(7, 6), ElementsAre(HasSubstr("nearest that does: 7")));
    EXPECT_THAT(batch(6, 100), ElementsAre(HasSubstr("nearest that does: 6")));
    EXPECT_THAT(batch(6, 3), IsEmpty());
}

TEST(Validate, HiddenIsAMultipleOfHeads) {
    const auto width = [](std::int64_t hidden, std::int64_t heads) {
        return with([&](spec::Run& run) {
            run.model.hidden = hidden;
            run.model.heads = heads;
        });
    };
    EXPECT_THAT(width(770, 12),
                ElementsAre(HasSubstr("model.hidden = 770 is not a multiple of model.heads = 12; "
                                      "nearest: hidden = 768, or set model.head_dim")));
    EXPECT_THAT(width(778, 12), ElementsAre(HasSubstr("nearest: hidden = 780")));
    EXPECT_THAT(width(5, 12), ElementsAre(HasSubstr("nearest: hidden = 12")));
    EXPECT_THAT(width(768, 12), IsEmpty());
    EXPECT_THAT(with([](spec::Run& run) {
                    run.model = modern();
                    run.model.hidden = 770;
                    run.model.head_dim = 64;
                }),
                IsEmpty());
}

TEST(Validate, KeyHeadsDivideHeads) {
    const auto heads = [](std::int64_t kv) {
        return with([&](spec::Run& run) {
            run.model = modern();
            run.model.kv_heads = kv;
        });
    };
    EXPECT_THAT(heads(5),
                ElementsAre(HasSubstr("model.kv_heads = 5 does not divide model.heads = 12; nearest that "
                                      "does: 4")));
    EXPECT_THAT(heads(10), ElementsAre(HasSubstr("nearest that does: 12")));
    EXPECT_THAT(heads(24), ElementsAre(HasSubstr("nearest that does: 12")));
    for (const std::int64_t kv : {0, 1, 2, 3, 4, 6, 12}) EXPECT_THAT(heads(kv), IsEmpty()) << kv;
}

TEST(Validate, RotationTurnsAnEvenNumberOfColumns) {
    const auto fraction = [](double share, std::int64_t dim) {
        return with([&](spec::Run& run) {
            run.model = modern();
            run.model.head_dim = dim;
            run.model.rotary_fraction = share;
        });
    };
    EXPECT_THAT(fraction(0.4, 64),
                ElementsAre(HasSubstr("model.rotary_fraction = 0.4 of a head of 64 rotates 25 "
                                      "columns; it must be an even number of at least 2; nearest: "
                                      "rotary_fraction = 0.40625")));
    EXPECT_THAT(fraction(0.01, 64), ElementsAre(HasSubstr("nearest: rotary_fraction = 0.03125")));
    EXPECT_THAT(fraction(0.40625, 64), IsEmpty());
    EXPECT_THAT(fraction(0.03125, 64), IsEmpty());
    EXPECT_THAT(fraction(1.0, 1), ElementsAre(HasSubstr("model.head_dim")));
    EXPECT_THAT(fraction(0.4, 80), IsEmpty());
    // Learned positions rotate nothing.
    EXPECT_THAT(with([](spec::Run& run) { run.model.rotary_fraction = 0.4; }), IsEmpty());
}

// The nearest share that a message names is taken, also where it is no short decimal.
TEST(Validate, NamedRotaryFractionIsTaken) {
    for (std::int64_t dim = 2; dim <= 300; ++dim) {
        for (const double share : {0.001, 0.1, 0.3, 0.5, 0.77, 0.99, 1.0}) {
            Model m = modern();
            m.head_dim = dim;
            m.rotary_fraction = share;
            const auto found = faults(m);
            if (found.empty()) continue;
            const std::string key = "nearest: rotary_fraction = ";
            ASSERT_THAT(found, ElementsAre(HasSubstr(key)));
            m.rotary_fraction = std::stod(found[0].substr(found[0].find(key) + key.size()));
            EXPECT_THAT(faults(m), IsEmpty()) << dim << " " << share << ": " << found[0];
        }
    }
}

TEST(Validate, FamilyGpt2SaysWhatItNeeds) {
    const auto gpt2 = [](const std::function<void(Model&)>& change) {
        return with([&](spec::Run& run) { change(run.model); });
    };
    EXPECT_THAT(gpt2([](Model& m) { m.norm = Norm::rmsnorm; }), ElementsAre(HasSubstr("norm = layernorm")));
    EXPECT_THAT(gpt2([](Model& m) { m.activation = Activation::swiglu; }),
                ElementsAre(HasSubstr("activation = gelu")));
    EXPECT_THAT(gpt2([](Model& m) { m.bias = false; }), ElementsAre(HasSubstr("bias = true")));
    EXPECT_THAT(gpt2([](Model& m) { m.positions = Positions::rope; }),
                ElementsAre(HasSubstr("positions = learned")));
    EXPECT_THAT(gpt2([](Model& m) { m.kv_heads = 4; }), ElementsAre(HasSubstr("kv_heads = heads")));
    EXPECT_THAT(gpt2([](Model& m) { m.parallel_block = true; }),
                ElementsAre(HasSubstr("parallel_block = false")));
    EXPECT_THAT(gpt2([](Model& m) { m.window = 8; }), ElementsAre(HasSubstr("window = 0")));
    EXPECT_THAT(gpt2([](Model& m) { m.head_bias = true; }), ElementsAre(HasSubstr("head_bias = false")));
    EXPECT_THAT(gpt2([](Model& m) { m.head_dim = 32; }), ElementsAre(HasSubstr("head_dim = hidden / heads")));
    EXPECT_THAT(gpt2([](Model& m) { m.head_dim = 64; }), IsEmpty());
}

TEST(Validate, SequenceFitsTheModel) {
    EXPECT_THAT(with([](spec::Run& run) { run.train.seq = 1025; }),
                ElementsAre(HasSubstr("train.seq = 1025 is longer than model.seq = 1024")));
    EXPECT_THAT(with([](spec::Run& run) { run.train.seq = 1024; }), IsEmpty());
}

TEST(Validate, ScheduleFalls) {
    EXPECT_THAT(with([](spec::Run& run) { run.optimizer.min_lr = 1; }),
                ElementsAre(HasSubstr("optimizer.min_lr = 1 is above optimizer.lr = 0.0006")));
}

TEST(Validate, WarmupFitsIntoTheSchedule) {
    const auto schedule = [](Schedule name, std::int64_t warmup, std::int64_t decay) {
        return with([&](spec::Run& run) {
            run.train.steps = 100;
            run.optimizer.schedule = name;
            run.optimizer.warmup = warmup;
            run.optimizer.decay_steps = decay;
        });
    };
    for (const Schedule name : {Schedule::cosine, Schedule::linear}) {
        EXPECT_THAT(schedule(name, 101, 0),
                    ElementsAre(HasSubstr(
                        "optimizer.warmup = 101 is longer than the schedule, which ends at step 100")));
        EXPECT_THAT(schedule(name, 51, 50), ElementsAre(HasSubstr("which ends at step 50")));
        EXPECT_THAT(schedule(name, 100, 0), IsEmpty());
        EXPECT_THAT(schedule(name, 50, 50), IsEmpty());
        EXPECT_THAT(schedule(name, 150, 200), IsEmpty());
    }
    EXPECT_THAT(schedule(Schedule::constant, 1000, 0), IsEmpty());
    EXPECT_THAT(schedule(Schedule::wsd, 51, 50),
                ElementsAre(HasSubstr(
                    "optimizer.warmup = 51 and decay_steps = 50 do not fit into train.steps = 100")));
    EXPECT_THAT(schedule(Schedule::wsd, 50, 50), IsEmpty());
    // decay_steps = 0 is a tenth of the steps, and has to fit as one that is written out.
    EXPECT_THAT(schedule(Schedule::wsd, 91, 0),
                ElementsAre(HasSubstr(
                    "optimizer.warmup = 91 and decay_steps = 10 do not fit into train.steps = 100")));
    EXPECT_THAT(schedule(Schedule::wsd, 90, 0), IsEmpty());
}

TEST(Validate, FilesOfBatchesStandAlone) {
    const auto data = [](std::vector<WeightedPrefix> train, std::vector<WeightedPrefix> validation) {
        return with([&](spec::Run& run) {
            run.data.train = std::move(train);
            run.data.validation = std::move(validation);
        });
    };
    EXPECT_THAT(data({{"a.npy"}}, {}), IsEmpty());
    EXPECT_THAT(data({{"a"}, {"b"}}, {{"c"}}), IsEmpty());
    EXPECT_THAT(data({{"a.npy"}, {"b"}}, {}),
                ElementsAre(HasSubstr("data.train: a .npy file of batches can't be "
                                      "blended; give it alone")));
    EXPECT_THAT(data({}, {{"c.npy"}}), ElementsAre(HasSubstr("data.validation takes packed prefixes")));
    EXPECT_TRUE(trains_on_npy({.train = {{"a.npy"}}, .validation = {}, .tokenizer = {}}));
    EXPECT_FALSE(trains_on_npy({.train = {{"a"}}, .validation = {}, .tokenizer = {}}));
    EXPECT_FALSE(trains_on_npy(Data()));
}

TEST(Validate, SamplesNeedATokenizer) {
    EXPECT_THAT(with([](spec::Run& run) { run.train.sample_tokens = 5; }),
                ElementsAre(HasSubstr("train.sample_tokens needs data.tokenizer")));
    EXPECT_THAT(with([](spec::Run& run) {
                    run.train.sample_tokens = 5;
                    run.data.tokenizer = "t";
                }),
                IsEmpty());
}

TEST(Validate, ModelFaultsComeWithTheRuns) {
    EXPECT_EQ(with([](spec::Run& run) {
                  run.model.hidden = 770;
                  run.train.seq = 5000;
                  run.parallel.micro_batch = 5;
              }).size(),
              3U);
}

TEST(Validate, DerivedNumbers) {
    spec::Run run;
    EXPECT_EQ(sequence(run), 1024);
    run.train.seq = 100;
    EXPECT_EQ(sequence(run), 100);
    EXPECT_EQ(micro_batches(run), 8);
    run.parallel.micro_batch = 5;
    EXPECT_THROW((void)micro_batches(run), Error);
}

}  // namespace
}  // namespace longhaul::spec
