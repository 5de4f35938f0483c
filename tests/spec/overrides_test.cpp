// --set section.key=value: over the file, in order, as TOML or as plain text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/temp_folder.h"
#include "spec/config.h"

namespace longhaul::spec {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Sets = std::vector<std::string>;

spec::Run with(const Sets& sets, std::string_view text = "") {
    return parse_config(text, "c.toml", sets);
}

std::string complaint(const Sets& sets, std::string_view text = "") {
    try {
        (void)with(sets, text);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_config);
        return error.what();
    }
    return "";
}

TEST(Overrides, ReplaceTheFileAndTheLastOneWins) {
    const spec::Run run =
        with({"train.steps=5", "train.steps=6", "model.layers=2"}, "[train]\nsteps = 3\nseed = 4");
    EXPECT_EQ(run.train.steps, 6);
    EXPECT_EQ(run.train.seed, 4);
    EXPECT_EQ(run.model.layers, 2);
}

TEST(Overrides, ValuesOfEveryType) {
    const spec::Run run =
        with({"optimizer.lr=2e-3", "optimizer.betas=[0.8, 0.9]", "observe.tensorboard=false",
              "train.precision=fp32", "train.precision=\"bf16\"", "train.sample_prompt=Once upon a time",
              "train.init_from=runs/a=b", "data.train=[{prefix=\"x\", weight=2}, \"y\"]",
              "data.validation=some/prefix", "data.tokenizer="});
    EXPECT_EQ(run.optimizer.lr, 2e-3);
    EXPECT_EQ(run.optimizer.beta2, 0.9);
    EXPECT_FALSE(run.observe.tensorboard);
    EXPECT_EQ(run.train.precision, DType::bf16);
    EXPECT_EQ(run.train.sample_prompt, "Once upon a time");
    EXPECT_EQ(run.train.init_from, "runs/a=b");
    EXPECT_EQ(run.data.train, (std::vector<WeightedPrefix>{{"x", 2.0}, {"y", 1.0}}));
    EXPECT_EQ(run.data.validation, (std::vector<WeightedPrefix>{{"some/prefix", 1.0}}));
    EXPECT_EQ(run.data.tokenizer, "");
}

TEST(Overrides, PresetGoesBeforeTheFilesOtherOptions) {
    const spec::Run run = with({"model.preset=gpt2-355m"}, "[model]\npreset = \"gpt2-124m\"\nlayers = 5");
    EXPECT_EQ(run.model.hidden, 1024);
    EXPECT_EQ(run.model.layers, 5);
    EXPECT_EQ(with({"model.preset=llama-tiny"}).model, find_preset("llama-tiny")->model);
    EXPECT_EQ(with({"model.preset=llama-tiny", "model.preset=gpt2-tiny"}).model,
              find_preset("gpt2-tiny")->model);
}

TEST(Overrides, OptionsBesideASetPresetChangeItWhateverTheOrder) {
    const spec::Run run = with({"model.layers=3", "model.preset=llama-tiny"});
    EXPECT_EQ(run.model.layers, 3);
    EXPECT_EQ(run.model.norm, Norm::rmsnorm);
}

TEST(Overrides, FaultsNameTheOverride) {
    EXPECT_THAT(complaint({"train.steps=0"}), HasSubstr("--set train.steps=0: train.steps must be integer"));
    EXPECT_THAT(complaint({"train.stesp=1"}),
                HasSubstr("--set train.stesp=1: there is no option train.stesp; did you mean train.steps?"));
    EXPECT_THAT(complaint({"trian.steps=1"}), HasSubstr("there is no section [trian]; did you mean train?"));
    EXPECT_THAT(
        complaint({"train.seed=1.5", "model.layers=x"}),
        AllOf(HasSubstr("2 faults"), HasSubstr("--set train.seed=1.5"), HasSubstr("--set model.layers=x")));
}

TEST(Overrides, PresetThatIsNoneNamesTheOverrideNotTheFile) {
    EXPECT_THAT(
        complaint({"model.preset=gpt3"}, "[model]\nlayers = 3"),
        AllOf(HasSubstr("--set model.preset=gpt3: model.preset must be one of"), Not(HasSubstr("c.toml"))));
}

TEST(Overrides, OtherFormsAreRefused) {
    for (const char* set :
         {"", "=", "=5", "steps=5", "train.steps", ".steps=5", "train.=5", "train=steps.x", "."}) {
        EXPECT_THAT(complaint({set}), HasSubstr("is not of the form section.key=value")) << set;
    }
}

TEST(Overrides, OneOverrideIsOneValue) {
    EXPECT_THAT(complaint({"train.steps=5\nother = 3"}), HasSubstr("holds more than one value"));
    EXPECT_THAT(complaint({"train.steps=5\n[train]\nseed = 3"}), HasSubstr("holds more than one value"));
    EXPECT_THAT(complaint({"model.a.b=1"}), HasSubstr("there is no option model.a.b"));
}

TEST(Overrides, ResolvedConfigurationHoldsThem) {
    const spec::Run run = with({"train.sample_prompt=It's \"one\"\\two\nthree", "train.steps=7"});
    EXPECT_EQ(with({}, to_toml(run)).train.sample_prompt, "It's \"one\"\\two\nthree");
    EXPECT_EQ(with({}, to_toml(run)).train.steps, 7);
}

// A resolved configuration is UTF-8, so text that is not could not be read back.
TEST(Overrides, TextThatIsNoUtf8IsRefused) {
    for (const char* bytes : {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xf5\x80\x80\x80", "\x80"}) {
        EXPECT_THAT(complaint({std::string("train.sample_prompt=a ") + bytes}), HasSubstr("is not UTF-8"))
            << bytes;
    }
    for (const char* text : {"\u00e9", "\u6f22\u5b57", "\U0001F642", "\U0010FFFF"})
        EXPECT_EQ(with({std::string("train.sample_prompt=a ") + text}).train.sample_prompt,
                  std::string("a ") + text);
}

}  // namespace
}  // namespace longhaul::spec
