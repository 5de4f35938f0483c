// The list of all options with their defaults, written out: a new, renamed or changed one is a decision that
// this file shows. And the page in docs/ says what the program says.
#include "spec/options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "spec/config.h"

namespace longhaul::spec {
namespace {

constexpr std::string_view kGolden = R"(# Resolved configuration: every default spelled out.

[model]
family = "gpt2"
layers = 12
hidden = 768
heads = 12
kv_heads = 0
head_dim = 0
ffn = 0
vocab = 50257
seq = 1024
norm = "layernorm"
norm_eps = 1e-05
activation = "gelu"
positions = "learned"
rope_theta = 10000.0
rotary_fraction = 1.0
parallel_block = false
window = 0
bias = true
qkv_bias = true
head_bias = false
tie_embeddings = true
dropout = 0.0
init_std = 0.02

[parallel]
micro_batch = 4
recompute = "none"

[train]
steps = 1000
global_batch = 32
seq = 0
seed = 1234
precision = "bf16"
eval_every = 0
eval_batches = 16
log_every = 1
sample_tokens = 0
sample_prompt = ""
init_from = ""
threads = 0

[optimizer]
name = "adamw"
lr = 0.0006
betas = [0.9, 0.95]
eps = 1e-08
weight_decay = 0.1
grad_clip = 1.0
schedule = "cosine"
warmup = 0
min_lr = 0.0
decay_steps = 0

[data]
train = []
validation = []
order = "shuffled"
tokenizer = ""
prefetch = 2

[checkpoint]
every = 0
keep = 2

[fault]
max_bad_steps = 5

[observe]
tensorboard = true
tensor_norms = false
check_invariants = false
)";

TEST(Options, AreExactlyThese) {
    EXPECT_EQ(to_toml(spec::Run()), kGolden);
}

TEST(Options, HaveOneRowEachAndStandBySection) {
    spec::Run run;
    std::set<std::string> names;
    std::vector<std::string_view> sections;
    for (const Option& option : options(run)) {
        EXPECT_TRUE(names.insert(fmt::format("{}.{}", option.section, option.key)).second) << option.key;
        EXPECT_FALSE(option.help.empty()) << option.key;
        EXPECT_EQ(option.help.find('|'), std::string_view::npos) << option.key << ": would break the table";
        if (sections.empty() || sections.back() != option.section) sections.push_back(option.section);
    }
    EXPECT_EQ(std::set(sections.begin(), sections.end()).size(), sections.size());
}

TEST(Options, SayWhatTheyMayBe) {
    spec::Run run;
    std::string all;
    for (const Option& option : options(run)) all += fmt::format("{}: {}\n", option.key, domain_text(option));
    for (const char* line :
         {"layers: integer, 1 to 10000\n", "steps: integer, at least 1\n", "lr: number, 0 to 1000000\n",
          "grad_clip: number, at least 0\n", "bias: true or false\n", "init_from: text\n",
          "precision: one of bf16, fp32\n", "betas: two numbers, 0 to 0.9999999\n"}) {
        EXPECT_NE(all.find(line), std::string::npos) << line;
    }
}

TEST(Options, PageInDocsIsCurrent) {
    const std::string page = read_file(LONGHAUL_SOURCE_DIR "/docs/configuration.md");
    EXPECT_TRUE(page == options_markdown())
        << "docs/configuration.md is not what `longhaul train --help-config` "
           "prints: make golden-docs";
}

}  // namespace
}  // namespace longhaul::spec
