// Reading and writing of whole configurations: every option, presets, inferred families, resolved files.
#include "spec/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "base/error.h"
#include "data/temp_folder.h"
#include "spec/options.h"

namespace longhaul::spec {
namespace {

using testing::HasSubstr;

// A value that is not the default for every option.
constexpr std::string_view kEverything = R"(
[model]
family = "llama"
layers = 3
hidden = 96
heads = 6
kv_heads = 2
head_dim = 24
ffn = 200
vocab = 1000
seq = 128
norm = "rmsnorm"
norm_eps = 1e-6
activation = "swiglu"
positions = "rope"
rope_theta = 500000
rotary_fraction = 0.5
parallel_block = true
window = 77
bias = false
qkv_bias = false
head_bias = true
tie_embeddings = false
dropout = 0.125
init_std = 0.03
[parallel]
micro_batch = 7
recompute = "selective"
[train]
steps = 11
global_batch = 21
seq = 100
seed = 99
precision = "fp32"
eval_every = 5
eval_batches = 6
log_every = 8
sample_tokens = 9
sample_prompt = "Once \"upon\" a time"
init_from = "start"
threads = 3
[optimizer]
name = "lamb"
lr = 0.25
betas = [0.5, 0.75]
eps = 1e-9
weight_decay = 0.0625
grad_clip = 2
schedule = "wsd"
warmup = 4
min_lr = 0.001
decay_steps = 2
[data]
train = ["a", { prefix = "b", weight = 2.5 }]
validation = "c"
order = "sequential"
tokenizer = "t.json"
prefetch = 1
[checkpoint]
every = 12
keep = 13
[fault]
max_bad_steps = 14
[observe]
tensorboard = false
tensor_norms = true
check_invariants = true
)";

spec::Run parse(std::string_view text) {
    return parse_config(text, "c.toml", {});
}

TEST(Config, EveryOptionReachesItsField) {
    const spec::Run run = parse(kEverything);
    const Model& m = run.model;
    EXPECT_EQ(m.family, Family::llama);
    EXPECT_EQ(m.layers, 3);
    EXPECT_EQ(m.hidden, 96);
    EXPECT_EQ(m.heads, 6);
    EXPECT_EQ(m.kv_heads, 2);
    EXPECT_EQ(m.head_dim, 24);
    EXPECT_EQ(m.ffn, 200);
    EXPECT_EQ(m.vocab, 1000);
    EXPECT_EQ(m.seq, 128);
    EXPECT_EQ(m.norm, Norm::rmsnorm);
    EXPECT_EQ(m.norm_eps, 1e-6);
    EXPECT_EQ(m.activation, Activation::swiglu);
    EXPECT_EQ(m.positions, Positions::rope);
    EXPECT_EQ(m.rope_theta, 500000.0);
    EXPECT_EQ(m.rotary_fraction, 0.5);
    EXPECT_TRUE(m.parallel_block);
    EXPECT_EQ(m.window, 77);
    EXPECT_FALSE(m.bias);
    EXPECT_FALSE(m.qkv_bias);
    EXPECT_TRUE(m.head_bias);
    EXPECT_FALSE(m.tie_embeddings);
    EXPECT_EQ(m.dropout, 0.125);
    EXPECT_EQ(m.init_std, 0.03);
    EXPECT_EQ(run.parallel.micro_batch, 7);
    EXPECT_EQ(run.parallel.recompute, Recompute::selective);
    EXPECT_EQ(run.train.steps, 11);
    EXPECT_EQ(run.train.global_batch, 21);
    EXPECT_EQ(run.train.seq, 100);
    EXPECT_EQ(run.train.seed, 99);
    EXPECT_EQ(run.train.precision, DType::f32);
    EXPECT_EQ(run.train.eval_every, 5);
    EXPECT_EQ(run.train.eval_batches, 6);
    EXPECT_EQ(run.train.log_every, 8);
    EXPECT_EQ(run.train.sample_tokens, 9);
    EXPECT_EQ(run.train.sample_prompt, "Once \"upon\" a time");
    EXPECT_EQ(run.train.init_from, "start");
    EXPECT_EQ(run.train.threads, 3);
    EXPECT_EQ(run.optimizer.name, OptimizerName::lamb);
    EXPECT_EQ(run.optimizer.lr, 0.25);
    EXPECT_EQ(run.optimizer.beta1, 0.5);
    EXPECT_EQ(run.optimizer.beta2, 0.75);
    EXPECT_EQ(run.optimizer.eps, 1e-9);
    EXPECT_EQ(run.optimizer.weight_decay, 0.0625);
    EXPECT_EQ(run.optimizer.grad_clip, 2.0);
    EXPECT_EQ(run.optimizer.schedule, Schedule::wsd);
    EXPECT_EQ(run.optimizer.warmup, 4);
    EXPECT_EQ(run.optimizer.min_lr, 0.001);
    EXPECT_EQ(run.optimizer.decay_steps, 2);
    EXPECT_EQ(run.data.train, (std::vector<WeightedPrefix>{{"a", 1.0}, {"b", 2.5}}));
    EXPECT_EQ(run.data.validation, (std::vector<WeightedPrefix>{{"c", 1.0}}));
    EXPECT_EQ(run.data.order, Order::sequential);
    EXPECT_EQ(run.data.tokenizer, "t.json");
    EXPECT_EQ(run.data.prefetch, 1);
    EXPECT_EQ(run.checkpoint.every, 12);
    EXPECT_EQ(run.checkpoint.keep, 13);
    EXPECT_EQ(run.fault.max_bad_steps, 14);
    EXPECT_FALSE(run.observe.tensorboard);
    EXPECT_TRUE(run.observe.tensor_norms);
    EXPECT_TRUE(run.observe.check_invariants);
}

// Keeps the test above complete: an option that it forgets still has its default.
TEST(Config, NoOptionKeepsItsDefaultInTheTestAbove) {
    spec::Run run = parse(kEverything);
    spec::Run defaults;
    const auto given = options(run);
    const auto before = options(defaults);
    for (std::size_t i = 0; i < given.size(); ++i)
        EXPECT_NE(value_text(given[i]), value_text(before[i])) << given[i].section << "." << given[i].key;
}

TEST(Config, ChoicesTakeEachOfTheirNames) {
    spec::Run scratch;
    for (const Option& option : options(scratch)) {
        const auto* choice = std::get_if<ChoiceOption>(&option.target);
        if (choice == nullptr) continue;
        for (std::size_t i = 0; i < choice->names.size(); ++i) {
            choice->set(i);
            EXPECT_EQ(choice->get(), i) << option.key;
            EXPECT_EQ(value_text(option), fmt::format("\"{}\"", choice->names[i]));
        }
    }
    EXPECT_EQ(parse("[train]\nprecision = \"bf16\"").train.precision, DType::bf16);
    EXPECT_EQ(parse("[parallel]\nrecompute = \"full\"").parallel.recompute, Recompute::full);
    EXPECT_EQ(parse("[optimizer]\nschedule = \"linear\"").optimizer.schedule, Schedule::linear);
    EXPECT_EQ(parse("[optimizer]\nschedule = \"constant\"").optimizer.schedule, Schedule::constant);
}

TEST(Config, EmptyFileIsAllDefaults) {
    EXPECT_EQ(to_toml(parse("")), to_toml(spec::Run()));
}

TEST(Config, ResolvedConfigurationReadsBackTheSame) {
    const std::string resolved = to_toml(parse(kEverything));
    EXPECT_EQ(to_toml(parse(resolved)), resolved);
    const std::string defaults = to_toml(spec::Run());
    EXPECT_EQ(to_toml(parse(defaults)), defaults);
}

// Text of all kinds that UTF-8 allows.
std::string random_text(std::mt19937_64& random) {
    static const std::vector<std::string> pieces = {"a",  " ",  "\"", "\\",   "'",    "#",      "\n",
                                                    "\t", "\r", "\b", "{",    "\x1b", "\x7f",   "=",
                                                    "]",  "é",  "漢", "🙂", "\\u",  "\"\"\"", "\u2028"};
    std::string text;
    for (std::uint64_t i = random() % 12; i > 0; --i) text += pieces[random() % pieces.size()];
    return text;
}

double random_real(std::mt19937_64& random, double least, double most) {
    // Any bits of a double, so that all exponents come up; what is outside of the range becomes its end.
    const auto value = std::bit_cast<double>(random());
    if (std::isnan(value)) return least;
    return std::clamp(value, least, most);
}

TEST(Config, AnyValuesReadBackToTheSameBits) {
    std::mt19937_64 random(1);
    for (int repeat = 0; repeat < 200; ++repeat) {
        spec::Run run;
        for (const Option& option : options(run)) {
            if (const auto* real = std::get_if<RealOption>(&option.target)) {
                *real->value = random_real(random, real->least, real->most);
            } else if (const auto* pair = std::get_if<PairOption>(&option.target)) {
                *pair->first = random_real(random, pair->least, pair->most);
                *pair->second = random_real(random, pair->least, pair->most);
            } else if (const auto* text = std::get_if<TextOption>(&option.target)) {
                *text->value = random_text(random);
            } else if (const auto* blend = std::get_if<BlendOption>(&option.target)) {
                for (std::uint64_t i = random() % 3; i > 0; --i)
                    blend->value->push_back({"p" + random_text(random), random_real(random, 1e-300, 1e18)});
            }
        }
        run.optimizer.min_lr = std::min(run.optimizer.min_lr, run.optimizer.lr);
        const std::string resolved = to_toml(run);
        spec::Run back = parse(resolved);
        ASSERT_EQ(to_toml(back), resolved);
        const auto before = options(run);
        const auto after = options(back);
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (const auto* real = std::get_if<RealOption>(&before[i].target)) {
                ASSERT_EQ(*std::get<RealOption>(after[i].target).value, *real->value) << before[i].key;
            } else if (const auto* text = std::get_if<TextOption>(&before[i].target)) {
                ASSERT_EQ(*std::get<TextOption>(after[i].target).value, *text->value) << before[i].key;
            } else if (const auto* blend = std::get_if<BlendOption>(&before[i].target)) {
                ASSERT_EQ(*std::get<BlendOption>(after[i].target).value, *blend->value) << before[i].key;
            }
        }
    }
}

TEST(Config, PresetsResolveToThemselves) {
    for (const Preset& preset : presets()) {
        const spec::Run run = parse(fmt::format("[model]\npreset = \"{}\"", preset.name));
        EXPECT_EQ(run.model, preset.model) << preset.name;
        const std::string resolved = to_toml(run);
        EXPECT_EQ(parse(resolved).model, preset.model) << preset.name;
    }
}

TEST(Config, OptionsBesideAPresetChangeIt) {
    const spec::Run run = parse("[model]\nlayers = 2\npreset = \"llama-tiny\"\nwindow = 16");
    EXPECT_EQ(run.model.layers, 2);
    EXPECT_EQ(run.model.hidden, 64);
    EXPECT_EQ(run.model.family, Family::mistral);
}

TEST(Config, FamilyIsFoundFromTheOtherOptions) {
    EXPECT_EQ(parse("").model.family, Family::gpt2);
    EXPECT_EQ(parse("[model]\nparallel_block = true").model.family, Family::phi);
    const std::string modern =
        "[model]\nnorm = \"rmsnorm\"\nactivation = \"swiglu\"\npositions = \"rope\"\nbias = false\n";
    EXPECT_EQ(parse(modern + "qkv_bias = false").model.family, Family::llama);
    EXPECT_EQ(parse(modern).model.family, Family::qwen2);
    EXPECT_EQ(parse(modern + "qkv_bias = false\nwindow = 16").model.family, Family::mistral);
    // One that is named stays, where another would have been found.
    EXPECT_EQ(parse(modern + "qkv_bias = false\nwindow = 16\nfamily = \"llama\"").model.family,
              Family::llama);
}

TEST(Config, FilesAreNamedAsTheyWereGiven) {
    const test::TempFolder folder;
    EXPECT_EQ(load_config(folder.write("c.toml", "[train]\nsteps = 3"), {}).train.steps, 3);
    const std::string bad = folder.write("bad.toml", "[train]\nsteps = 0");
    EXPECT_THAT(test::message_of([&] { (void)load_config(bad, {}); }), HasSubstr(bad + ":2: "));
    try {
        (void)load_config(folder / "missing.toml", {});
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_config);
        EXPECT_THAT(error.what(), HasSubstr("missing.toml"));
    }
}

}  // namespace
}  // namespace longhaul::spec
