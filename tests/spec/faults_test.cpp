// What the reader of configurations refuses: each fault with its line, all of them at once, with what was
// meant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "spec/config.h"
#include "spec/options.h"

namespace longhaul::spec {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What parse_config says; "" where it has nothing to say. Anything but an Error bad_config fails the test.
std::string complaint(std::string_view text, const std::vector<std::string>& overrides = {}) {
    try {
        (void)parse_config(text, "c.toml", overrides);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_config);
        return error.what();
    }
    return "";
}

TEST(ConfigFaults, AllAreListedAtOnceWithTheirLines) {
    const std::string said = complaint(R"([model]
layers = 0
hiden = 64
[train]
steps = "many"
precision = "fp8"
global_batch = 6
[parallel]
micro_batch = 4
[modle]
layers = 1
)");
    EXPECT_THAT(said, HasSubstr("6 faults in the configuration:\n"));
    EXPECT_THAT(said, HasSubstr("\n  c.toml:2: model.layers must be integer, 1 to 10000"));
    EXPECT_THAT(said, HasSubstr("\n  c.toml:3: there is no option model.hiden; did you mean model.hidden?"));
    EXPECT_THAT(said, HasSubstr("\n  c.toml:5: train.steps must be integer, at least 1"));
    EXPECT_THAT(said, HasSubstr("\n  c.toml:6: train.precision must be one of bf16, fp32"));
    EXPECT_THAT(said, HasSubstr("\n  c.toml:10: there is no section [modle]; did you mean model?"));
    EXPECT_THAT(said,
                HasSubstr("\n  c.toml: parallel.micro_batch = 4 does not divide train.global_batch = 6"));
}

TEST(ConfigFaults, OneFaultIsNoFaults) {
    EXPECT_THAT(complaint("[train]\nsteps = 0"), HasSubstr("1 fault in the configuration"));
}

TEST(ConfigFaults, BrokenTomlIsNamedWithItsLine) {
    EXPECT_THAT(complaint("[train]\nsteps = 3\nseed = = 4\n"), HasSubstr("c.toml:3: "));
    EXPECT_THAT(complaint("[train]\nsteps = 1\nsteps = 2\n"), HasSubstr("c.toml:3: "));
    EXPECT_THAT(complaint("a = \"\xff\""), HasSubstr("c.toml:1: "));
    EXPECT_THAT(complaint("a = " + std::string(5000, '[')), HasSubstr("c.toml:1: "));
}

TEST(ConfigFaults, SuggestionsOnlyWhereOneIsNear) {
    EXPECT_THAT(complaint("[optimizer]\nweigth_decay = 0.1"),
                HasSubstr("did you mean optimizer.weight_decay?"));
    EXPECT_THAT(complaint("[train]\nprecison = \"bf16\""), HasSubstr("did you mean train.precision?"));
    EXPECT_THAT(
        complaint("[train]\nxylophone = 1"),
        AllOf(HasSubstr("c.toml:2: there is no option train.xylophone"), Not(HasSubstr("did you mean"))));
    EXPECT_THAT(complaint("[zzzzzzzz]\na = 1"),
                AllOf(HasSubstr("there is no section [zzzzzzzz]"), Not(HasSubstr("did you mean"))));
}

TEST(ConfigFaults, PresetsAreSuggestedToo) {
    EXPECT_THAT(complaint("[model]\n\npreset = \"gpt2-124\""),
                AllOf(HasSubstr("c.toml:3: model.preset must be one of gpt2-tiny, llama-tiny"),
                      HasSubstr("did you mean gpt2-124m?")));
    EXPECT_THAT(complaint("[model]\npreset = 3"), HasSubstr("c.toml:2: model.preset must be one of"));
}

TEST(ConfigFaults, KeysOutsideOfSections) {
    EXPECT_THAT(complaint("steps = 3\n"), HasSubstr("c.toml:1: steps stands outside of a section"));
    EXPECT_THAT(complaint("train = 3\n"), HasSubstr("c.toml:1: train stands outside of a section"));
    EXPECT_THAT(complaint("model = [1]\n"), HasSubstr("c.toml:1: model stands outside of a section"));
    EXPECT_THAT(complaint("[[train]]\nsteps = 3\n"), HasSubstr("train stands outside of a section"));
    EXPECT_THAT(complaint("[train.steps]\na = 3\n"), HasSubstr("train.steps must be integer"));
    EXPECT_THAT(complaint("[train.deep]\na = 3\n"), HasSubstr("there is no option train.deep"));
}

// Every option refuses every other type of value with its name, its line and what it may be.
TEST(ConfigFaults, WrongTypesOfEveryOption) {
    spec::Run scratch;
    for (const Option& option : options(scratch)) {
        std::vector<std::string> wrong = {"1979-05-27", "07:32:00", "{}"};
        const auto add = [&](std::initializer_list<const char*> more) {
            wrong.insert(wrong.end(), more.begin(), more.end());
        };
        std::visit(
            [&](const auto& target) {
                using Target = std::decay_t<decltype(target)>;
                if constexpr (std::is_same_v<Target, IntegerOption>) {
                    add({"1.0", "true", "\"1\"", "[1]", "nan"});
                } else if constexpr (std::is_same_v<Target, RealOption>) {
                    add({"true", "\"1\"", "[1]", "nan", "inf", "-inf"});
                } else if constexpr (std::is_same_v<Target, BoolOption>) {
                    add({"1", "0", "\"true\"", "[true]"});
                } else if constexpr (std::is_same_v<Target, TextOption>) {
                    add({"1", "1.5", "true", "[\"a\"]"});
                } else if constexpr (std::is_same_v<Target, ChoiceOption>) {
                    add({"1", "true", "\"\"", "\"BF16\"", "[\"bf16\"]"});
                } else if constexpr (std::is_same_v<Target, BlendOption>) {
                    add({"1", "true", "\"\"", "[1]", "[[\"a\"]]", "{ weight = 1.0 }", "{ prefix = 1 }",
                         "{ prefix = \"\" }", "{ prefix = \"a\", weight = 0 }",
                         "{ prefix = \"a\", weight = -1 }", "{ prefix = \"a\", weight = inf }",
                         "{ prefix = \"a\", weight = \"1\" }", "{ prefix = \"a\", wieght = 2 }",
                         "[\"a\", \"\"]"});
                } else {
                    add({"0.5", "[0.5]", "[0.5, 0.5, 0.5]", "[0.5, true]", "[\"0.5\", 0.5]", "[nan, 0.5]",
                         "[0.5, 1.0]", "[-0.1, 0.5]"});
                }
            },
            option.target);
        for (const std::string& value : wrong) {
            EXPECT_THAT(complaint(fmt::format("[{}]\n{} = {}", option.section, option.key, value)),
                        HasSubstr(fmt::format("c.toml:2: {}.{} must be {}", option.section, option.key,
                                              domain_text(option))))
                << value;
        }
    }
}

// Ends of every range are taken by the reader, what lies beyond is not. (Relations may still refuse the
// ends.)
TEST(ConfigFaults, RangesOfEveryOption) {
    spec::Run scratch;
    for (const Option& option : options(scratch)) {
        const std::string must_be = fmt::format("{}.{} must be", option.section, option.key);
        const auto said = [&](const std::string& value) {
            return complaint(fmt::format("[{}]\n{} = {}", option.section, option.key, value));
        };
        if (const auto* integer = std::get_if<IntegerOption>(&option.target)) {
            EXPECT_THAT(said(fmt::format("{}", integer->least)), Not(HasSubstr(must_be)));
            EXPECT_THAT(said(fmt::format("{}", integer->most)), Not(HasSubstr(must_be)));
            EXPECT_THAT(said(fmt::format("{}", integer->least - 1)), HasSubstr(must_be));
            EXPECT_THAT(said(fmt::format("{}", integer->most + 1)), HasSubstr(must_be));
            EXPECT_THAT(said("9223372036854775808"), Not(testing::IsEmpty()));
        } else if (const auto* real = std::get_if<RealOption>(&option.target)) {
            EXPECT_THAT(said(fmt::format("{:e}", real->most)), Not(HasSubstr(must_be)));
            EXPECT_THAT(said(fmt::format("{:e}", real->least)), Not(HasSubstr(must_be)));
            EXPECT_THAT(said("-1"), HasSubstr(must_be));
            EXPECT_THAT(said("-1e-300"), HasSubstr(must_be));
            if (real->most < 1e300) {
                EXPECT_THAT(said("1e300"), HasSubstr(must_be));
            }
        }
    }
}

TEST(ConfigFaults, IntegersAreTakenAsReals) {
    EXPECT_EQ(parse_config("[optimizer]\nlr = 1\nbetas = [0, 0]", "c", {}).optimizer.lr, 1.0);
}

// What came before a fault still counts: relations are checked with the values that could be read.
TEST(ConfigFaults, RelationsAreCheckedBesideOtherFaults) {
    EXPECT_THAT(complaint("[train]\nseq = 2000\nsteps = -1"),
                AllOf(HasSubstr("train.steps must be"),
                      HasSubstr("train.seq = 2000 is longer than model.seq = 1024")));
}

}  // namespace
}  // namespace longhaul::spec
