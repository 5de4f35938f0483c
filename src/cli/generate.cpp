// longhaul generate and eval: use a trained model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel_for.h"
#include "cli/app.h"
#include "train/evaluate.h"
#include "train/generate.h"
#include "train/session.h"

namespace longhaul::cli {

namespace {

using nlohmann::ordered_json;

DType parse_precision(const std::string& name) {
    return name == "bf16" ? DType::bf16 : DType::f32;
}

struct GenerateArguments {
    std::string checkpoint, prompt, tokenizer;
    std::string prompt_file;
    std::vector<std::int32_t> prompt_ids;
    std::string precision = "fp32";
    train::GenerateOptions options;
    bool json = false;
    bool logits = false;
    int threads = 0;
};

std::vector<std::int32_t> prompt_tokens(const GenerateArguments& a, const data::Tokenizer* tokenizer,
                                        const spec::Model& model) {
    std::vector<std::int32_t> tokens = a.prompt_ids;
    if (tokens.empty()) {
        require(tokenizer != nullptr, ErrorCode::bad_config,
                "the checkpoint has no tokenizer: name one by --tokenizer, or give --prompt-ids");
        tokens = tokenizer->encode(a.prompt);
        // An empty prompt starts a document.
        if (tokens.empty() && tokenizer->end_of_document()) tokens.push_back(*tokenizer->end_of_document());
    }
    require(!tokens.empty(), ErrorCode::bad_config, "the prompt holds no token");
    for (const std::int32_t token : tokens) {
        require(token >= 0 && token < model.vocab, ErrorCode::bad_config,
                "prompt token {} is not in the model's vocabulary of {}", token, model.vocab);
    }
    return tokens;
}

void run_generate(GenerateArguments a) {
    if (a.threads > 0) set_threads(a.threads);
    const train::Session session = train::open_session(a.checkpoint, parse_precision(a.precision));
    std::unique_ptr<data::Tokenizer> tokenizer;
    if (a.prompt_ids.empty() || !session.tokenizer.empty() || !a.tokenizer.empty())
        tokenizer = train::open_tokenizer(session, a.tokenizer);
    const std::vector<std::int32_t> prompt = prompt_tokens(a, tokenizer.get(), *session.model);
    model::Decoder decoder(*session.device, *session.model, *session.parameters, session.model->seq,
                           session.ledger.get());

    if (a.logits) {
        require(std::ssize(prompt) <= decoder.capacity(), ErrorCode::bad_config,
                "the prompt has {} tokens, the model reads at most {}", prompt.size(), decoder.capacity());
        const std::span<const float> logits = decoder.feed(prompt);
        const ordered_json document{{"prompt_ids", prompt},
                                    {"last_logits", std::vector<double>(logits.begin(), logits.end())}};
        fmt::print("{}\n", document.dump());
        return;
    }
    if (tokenizer && tokenizer->end_of_document()) a.options.stop = *tokenizer->end_of_document();
    std::unique_ptr<data::StreamDecoder> stream;
    if (tokenizer && !a.json) {
        stream = std::make_unique<data::StreamDecoder>(*tokenizer);
        fmt::print("{}", tokenizer->decode(prompt));
    }
    const auto made = train::generate(decoder, prompt, a.options, [&](std::int32_t token) {
        if (a.json) return;
        fmt::print("{}", stream ? stream->push(token) : fmt::format("{} ", token));
        std::fflush(stdout);
    });
    if (!a.json) {
        fmt::print("{}\n", stream ? stream->finish() : "");
        return;
    }
    ordered_json document{{"prompt_ids", prompt}, {"ids", made}};
    if (tokenizer) {
        document["prompt"] = tokenizer->decode(prompt);
        document["text"] = tokenizer->decode(made);
    }
    fmt::print("{}\n", document.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

struct EvalArguments {
    std::string checkpoint;
    std::vector<std::string> data;
    std::string precision = "fp32";
    std::int64_t batch = 4, seq = 0, max_samples = 0;
    bool json = false;
    int threads = 0;
};

void run_eval(const EvalArguments& a) {
    if (a.threads > 0) set_threads(a.threads);
    const train::Session session = train::open_session(a.checkpoint, parse_precision(a.precision));
    data::SampleOptions options;
    options.sequence = a.seq == 0 ? session.model->seq : a.seq;
    require(session.model->positions == spec::Positions::rope || options.sequence <= session.model->seq,
            ErrorCode::bad_config, "--seq {} is longer than the {} positions that the model learned",
            options.sequence, session.model->seq);
    options.vocab = session.model->vocab;
    std::vector<data::BlendPart> parts;
    for (const std::string& prefix : a.data) parts.push_back({prefix, 1.0});
    const auto source = data::open_evaluation(parts, options, a.max_samples);
    const model::StageOptions stage_options{{a.batch, options.sequence}, spec::Recompute::full};
    model::Stage stage(*session.device, *session.model, *session.parameters, stage_options,
                       session.ledger.get());
    const train::Evaluation result =
        train::evaluate(stage, stage_options.geometry, *source, a.max_samples, {});
    if (a.json) {
        const ordered_json document{{"checkpoint", session.source},
                                    {"step", session.step},
                                    {"loss", result.loss},
                                    {"perplexity", result.perplexity()},
                                    {"tokens", result.tokens}};
        fmt::print("{}\n", document.dump(2));
    } else {
        fmt::print("loss {:.6f} nats/token  perplexity {:.4f}  tokens {}\n", result.loss, result.perplexity(),
                   result.tokens);
    }
}

void add_generate_command(CLI::App& app) {
    auto a = std::make_shared<GenerateArguments>();
    CLI::App* generate = app.add_subcommand("generate", "Continue a prompt");
    generate
        ->add_option("--checkpoint", a->checkpoint,
                     "Checkpoint, run directory (its newest complete one) or Hugging Face folder")
        ->required();
    auto* prompt = generate->add_option("--prompt", a->prompt, "Text to continue");
    generate->add_option("--prompt-ids", a->prompt_ids, "Token ids instead of a text, separated by commas")
        ->delimiter(',')
        ->excludes(prompt);
    generate->add_option("--tokenizer", a->tokenizer, "Tokenizer; default: the checkpoint's own");
    generate->add_option("--max-tokens", a->options.max_tokens, "Tokens to make at most")
        ->check(CLI::Range(1, 1 << 24));
    generate->add_option("--temperature", a->options.sampling.temperature, "0: always the likeliest token")
        ->check(CLI::Range(0.0, 100.0));
    generate->add_option("--top-k", a->options.sampling.top_k, "Draw among the k likeliest tokens; 0: all")
        ->check(CLI::Range(0, 1 << 24));
    generate
        ->add_option("--top-p", a->options.sampling.top_p,
                     "Draw among the likeliest tokens that together have this probability")
        ->check(CLI::Range(0.0, 1.0));
    generate->add_option("--seed", a->options.sampling.seed, "Of the draws");
    generate->add_option("--precision", a->precision, "fp32 or bf16")->check(CLI::IsMember({"fp32", "bf16"}));
    generate->add_option("--threads", a->threads, "Compute threads; default: all processors of this process")
        ->check(CLI::Range(1, 4096));
    generate->add_flag("--logits", a->logits, "Print the logits after the prompt as JSON instead of text");
    generate->add_flag("--json", a->json, "Print one JSON document on standard output");
    generate->callback([a] { run_generate(*a); });
}

void add_eval_command(CLI::App& app) {
    auto a = std::make_shared<EvalArguments>();
    CLI::App* eval = app.add_subcommand("eval", "Loss and perplexity on packed data");
    eval->add_option("--checkpoint", a->checkpoint,
                     "Checkpoint, run directory (its newest complete one) or Hugging Face folder")
        ->required();
    eval->add_option("--data", a->data, "Packed prefixes")->required();
    eval->add_option("--batch", a->batch, "Sequences at once")->check(CLI::Range(1, 1 << 16));
    eval->add_option("--seq", a->seq, "Tokens of a sequence; default: the model's")
        ->check(CLI::Range(1, 1 << 24));
    eval->add_option("--max-samples", a->max_samples, "Sequences at most, evenly spread; 0: all")
        ->check(CLI::Range(0, 1 << 30));
    eval->add_option("--precision", a->precision, "fp32 or bf16")->check(CLI::IsMember({"fp32", "bf16"}));
    eval->add_option("--threads", a->threads, "Compute threads; default: all processors of this process")
        ->check(CLI::Range(1, 4096));
    eval->add_flag("--json", a->json, "Print one JSON document on standard output");
    eval->callback([a] { run_eval(*a); });
}

}  // namespace

void add_generate(CLI::App& app, int& /*status*/) {
    add_generate_command(app);
    add_eval_command(app);
}

}  // namespace longhaul::cli
