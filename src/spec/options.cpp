// The rows. Order here is the order of written configurations and of the documentation.
#include "spec/options.h"

#include <fmt/format.h>

#include <limits>

namespace longhaul::spec {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr double kHuge = std::numeric_limits<double>::max();

template <typename Enum>
ChoiceOption choice(Enum& value, std::vector<std::string_view> names) {
    return {std::move(names), [&value] { return static_cast<std::size_t>(value); },
            [&value](std::size_t i) { value = static_cast<Enum>(i); }};
}

// Precision is a choice of two of the element types.
ChoiceOption precision(DType& value) {
    return {{"bf16", "fp32"},
            [&value] { return value == DType::bf16 ? std::size_t{0} : std::size_t{1}; },
            [&value](std::size_t i) { value = i == 0 ? DType::bf16 : DType::f32; }};
}

void add_model(std::vector<Option>& o, Model& m) {
    const auto add = [&](std::string_view key, auto target, std::string_view help) {
        o.push_back({"model", key, target, help});
    };
    add("family", choice(m.family, {"gpt2", "llama", "mistral", "qwen2", "phi"}),
        "Hugging Face form for export, and which tensors count as one; found from the other options if left "
        "out");
    add("layers", IntegerOption{&m.layers, 1, 10000}, "transformer blocks");
    add("hidden", IntegerOption{&m.hidden, 1, 1 << 20}, "width of the residual stream");
    add("heads", IntegerOption{&m.heads, 1, 1 << 16}, "attention heads");
    add("kv_heads", IntegerOption{&m.kv_heads, 0, 1 << 16},
        "key and value heads, a divisor of heads; 0: as many as heads");
    add("head_dim", IntegerOption{&m.head_dim, 0, 4096}, "width of a head; 0: hidden / heads");
    add("ffn", IntegerOption{&m.ffn, 0, 1 << 22},
        "width of the MLP; 0: 4 x hidden (gelu), 8/3 x hidden up to a multiple of 256 (swiglu)");
    add("vocab", IntegerOption{&m.vocab, 1, 1 << 24}, "tokens of the vocabulary");
    add("seq", IntegerOption{&m.seq, 1, 1 << 24},
        "longest sequence: rows of learned positions, and the training sequence unless train.seq says "
        "otherwise");
    add("norm", choice(m.norm, {"layernorm", "rmsnorm"}), "normalisation");
    add("norm_eps", RealOption{&m.norm_eps, 1e-30, 1}, "added to the variance");
    add("activation", choice(m.activation, {"gelu", "swiglu"}), "MLP activation; gelu in its tanh form");
    add("positions", choice(m.positions, {"learned", "rope"}), "position information; rope rotates halves");
    add("rope_theta", RealOption{&m.rope_theta, 1, 1e12}, "base of the rotation's wavelengths");
    add("rotary_fraction", RealOption{&m.rotary_fraction, 0.001, 1},
        "share of a head's columns that is rotated");
    add("parallel_block", BoolOption{&m.parallel_block},
        "y = x + MLP(LN(x)) + Attention(LN(x)) instead of the serial block");
    add("window", IntegerOption{&m.window, 0, 1 << 24},
        "keys that a query sees, itself included; 0: all earlier ones");
    add("bias", BoolOption{&m.bias}, "biases on the blocks' linears and layer norms");
    add("qkv_bias", BoolOption{&m.qkv_bias}, "bias on query, key and value even where bias = false");
    add("head_bias", BoolOption{&m.head_bias}, "bias on the output head");
    add("tie_embeddings", BoolOption{&m.tie_embeddings}, "the output head is the token embedding");
    add("dropout", RealOption{&m.dropout, 0, 0.99},
        "on embeddings, attention probabilities and residual branches, while training");
    add("init_std", RealOption{&m.init_std, 0, 100},
        "spread of initial weights; projections into the residual stream: / sqrt(2 layers)");
}

void add_train(std::vector<Option>& o, Run& run) {
    const auto add = [&](std::string_view section, std::string_view key, auto target, std::string_view help) {
        o.push_back({section, key, target, help});
    };
    Parallel& p = run.parallel;
    add("parallel", "micro_batch", IntegerOption{&p.micro_batch, 1, 1 << 20},
        "sequences of one forward pass; divides train.global_batch");
    add("parallel", "recompute", choice(p.recompute, {"none", "selective", "full"}),
        "recompute nothing, the cheap outputs of norms and activations, or whole blocks in the backward "
        "pass");
    Train& t = run.train;
    add("train", "steps", IntegerOption{&t.steps, 1, kMost}, "optimizer steps of the run");
    add("train", "global_batch", IntegerOption{&t.global_batch, 1, 1 << 24}, "sequences of a step");
    add("train", "seq", IntegerOption{&t.seq, 0, 1 << 24},
        "tokens of a training sequence, at most model.seq; 0: model.seq, or what a .npy file of batches "
        "holds");
    add("train", "seed", IntegerOption{&t.seed, 0, kMost},
        "of initial weights, data order, dropout and sampling");
    add("train", "precision", precision(t.precision),
        "compute type; masters, gradients and optimizer state are fp32 in both");
    add("train", "eval_every", IntegerOption{&t.eval_every, 0, kMost},
        "steps between evaluations; 0: only before the first and after the last step");
    add("train", "eval_batches", IntegerOption{&t.eval_batches, 0, kMost},
        "micro-batches of an evaluation; 0: all of the validation data");
    add("train", "log_every", IntegerOption{&t.log_every, 1, kMost},
        "steps between lines where standard error is no terminal");
    add("train", "sample_tokens", IntegerOption{&t.sample_tokens, 0, 1 << 20},
        "tokens to generate and print after the last step");
    add("train", "sample_prompt", TextOption{&t.sample_prompt}, "what that sample begins with");
    add("train", "init_from", TextOption{&t.init_from},
        "checkpoint or Hugging Face folder whose weights the run starts from");
    add("train", "threads", IntegerOption{&t.threads, 0, 4096},
        "compute threads; 0: all processors of this process");
    Optimizer& z = run.optimizer;
    add("optimizer", "name", choice(z.name, {"adamw", "lamb"}), "update rule");
    add("optimizer", "lr", RealOption{&z.lr, 0, 1e6}, "peak learning rate");
    add("optimizer", "betas", PairOption{&z.beta1, &z.beta2, 0, 0.9999999},
        "decay of the first and second moment");
    add("optimizer", "eps", RealOption{&z.eps, 0, 1}, "added to the root of the second moment");
    add("optimizer", "weight_decay", RealOption{&z.weight_decay, 0, 100},
        "decoupled decay of tensors with two or more dimensions");
    add("optimizer", "grad_clip", RealOption{&z.grad_clip, 0, kHuge},
        "gradients are scaled to at most this global norm; 0: off");
    add("optimizer", "schedule", choice(z.schedule, {"constant", "cosine", "linear", "wsd"}),
        "of the learning rate after warm-up");
    add("optimizer", "warmup", IntegerOption{&z.warmup, 0, kMost}, "steps of linear rise to lr");
    add("optimizer", "min_lr", RealOption{&z.min_lr, 0, 1e6}, "where the schedule ends, and stays");
    add("optimizer", "decay_steps", IntegerOption{&z.decay_steps, 0, kMost},
        "cosine, linear: the step that reaches min_lr, 0 = train.steps; wsd: length of the final fall, 0 = a "
        "tenth of train.steps");
    Data& d = run.data;
    add("data", "train", BlendOption{&d.train},
        "packed prefixes with weights, or one .npy file of int32 [step, sequence, seq + 1]");
    add("data", "validation", BlendOption{&d.validation}, "packed prefixes to evaluate on");
    add("data", "order", choice(d.order, {"shuffled", "sequential"}), "of the samples of an epoch");
    add("data", "tokenizer", TextOption{&d.tokenizer},
        "tokenizer.json, sentencepiece .model or bytes; kept with checkpoints, needed for text samples");
    add("data", "prefetch", IntegerOption{&d.prefetch, 0, 1024}, "steps that a thread reads ahead; 0: none");
    add("checkpoint", "every", IntegerOption{&run.checkpoint.every, 0, kMost},
        "steps between checkpoints; 0: only at the end or when interrupted");
    add("checkpoint", "keep", IntegerOption{&run.checkpoint.keep, 0, kMost},
        "newest complete checkpoints that are kept; 0: all");
    add("fault", "max_bad_steps", IntegerOption{&run.fault.max_bad_steps, 1, kMost},
        "skipped steps in a row (loss or gradient not finite) after which the run stops");
    add("observe", "tensorboard", BoolOption{&run.observe.tensorboard}, "write TensorBoard event files");
    add("observe", "tensor_norms", BoolOption{&run.observe.tensor_norms},
        "write gradient norms by tensor each step and weight norms at the end");
    add("observe", "check_invariants", BoolOption{&run.observe.check_invariants},
        "check after each step that weights are finite and the compute copy equals the rounded masters");
}

struct DomainText {
    std::string operator()(const IntegerOption& o) const {
        if (o.most == kMost) return fmt::format("integer, at least {}", o.least);
        return fmt::format("integer, {} to {}", o.least, o.most);
    }
    std::string operator()(const RealOption& o) const {
        if (o.most == kHuge) return fmt::format("number, at least {}", o.least);
        return fmt::format("number, {} to {}", o.least, o.most);
    }
    std::string operator()(const BoolOption& /*o*/) const { return "true or false"; }
    std::string operator()(const TextOption& /*o*/) const { return "text"; }
    std::string operator()(const ChoiceOption& o) const {
        std::string text = "one of ";
        for (std::size_t i = 0; i < o.names.size(); ++i)
            text += fmt::format("{}{}", i == 0 ? "" : ", ", o.names[i]);
        return text;
    }
    std::string operator()(const BlendOption& /*o*/) const {
        return "\"prefix\", a list of them, or a list of { prefix = \"...\", weight = 1.0 }";
    }
    std::string operator()(const PairOption& o) const {
        return fmt::format("two numbers, {} to {}", o.least, o.most);
    }
};

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
            out += c;
        }
    }
    return out + '"';
}

// Shortest form that reads back to the same double, always with a point or exponent: TOML tells integers and
// floats apart.
std::string real_text(double value) {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
}

struct ValueText {
    std::string operator()(const IntegerOption& o) const { return fmt::format("{}", *o.value); }
    std::string operator()(const RealOption& o) const { return real_text(*o.value); }
    std::string operator()(const BoolOption& o) const { return *o.value ? "true" : "false"; }
    std::string operator()(const TextOption& o) const { return in_quotes(*o.value); }
    std::string operator()(const ChoiceOption& o) const { return in_quotes(o.names[o.get()]); }
    std::string operator()(const BlendOption& o) const {
        std::string text = "[";
        for (const WeightedPrefix& part : *o.value) {
            text += fmt::format("{}{{ prefix = {}, weight = {} }}", text.size() == 1 ? "" : ", ",
                                in_quotes(part.prefix), real_text(part.weight));
        }
        return text + "]";
    }
    std::string operator()(const PairOption& o) const {
        return fmt::format("[{}, {}]", real_text(*o.first), real_text(*o.second));
    }
};

}  // namespace

std::vector<Option> options(Run& run) {
    std::vector<Option> all;
    add_model(all, run.model);
    add_train(all, run);
    return all;
}

std::string domain_text(const Option& option) {
    return std::visit(DomainText{}, option.target);
}

std::string value_text(const Option& option) {
    return std::visit(ValueText{}, option.target);
}

std::string options_markdown() {
    Run defaults;
    std::string text =
        "# Configuration\n\n"
        "A configuration is a TOML file of the sections below; what is left out has its default. `--set "
        "section.key=value`\nchanges an option for one run. A wrong configuration is refused with all its "
        "faults at "
        "once, and each run keeps its\nresolved one in `RUN/config.toml`.\n\n"
        "This page is what `longhaul train --help-config` prints; `make golden-docs` writes it anew.\n";
    std::string_view section;
    for (const Option& option : options(defaults)) {
        if (option.section != section) {
            section = option.section;
            text += fmt::format(
                "\n## [{}]\n\n| option | default | may be | what it does |\n|---|---|---|---|\n", section);
            if (section == "model") {
                text +=
                    "| `preset` | | a name from the list below | the model to start from; the options beside "
                    "it change it |\n";
            }
        }
        text += fmt::format("| `{}` | `{}` | {} | {} |\n", option.key, value_text(option),
                            domain_text(option), option.help);
    }
    text += "\n## Presets\n\n| preset | parameters | what it is |\n|---|---|---|\n";
    for (const Preset& preset : presets()) {
        text += fmt::format("| `{}` | {:.1f} M | {} |\n", preset.name,
                            static_cast<double>(parameter_count(preset.model)) / 1e6, preset.help);
    }
    return text;
}

}  // namespace longhaul::spec
