// longhaul tokenizer train|encode|decode: from text to a vocabulary, to ids and back.
#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parallel_for.h"
#include "base/time.h"
#include "cli/app.h"
#include "cli/output.h"
#include "data/bpe_trainer.h"
#include "data/pretokenizer.h"
#include "data/text_input.h"
#include "data/tokenizer.h"
#include "data/word_counts.h"

namespace longhaul::cli {

namespace {

using nlohmann::ordered_json;

struct TrainArguments {
    std::string type = "bpe";
    std::string out;
    std::string pattern = "gpt2";
    std::vector<std::string> special{"<|endoftext|>"};
    data::WordCountOptions words;
    data::BpeTrainOptions bpe;
    int threads = 0;
    bool json = false;
};

std::string pattern_named(const std::string& name) {
    if (name == "gpt2") return data::kGpt2Pattern;
    if (name == "llama3") return data::kLlama3Pattern;
    return name;
}

void check_special(const std::vector<std::string>& special) {
    for (std::size_t i = 0; i < special.size(); ++i) {
        require(!special[i].empty(), ErrorCode::bad_config, "--special-token: a token without text");
        require(std::find(special.begin(), special.begin() + static_cast<std::ptrdiff_t>(i), special[i]) ==
                    special.begin() + static_cast<std::ptrdiff_t>(i),
                ErrorCode::bad_config, "--special-token \"{}\" is given twice", special[i]);
    }
}

void run_train(TrainArguments a) {
    if (a.threads > 0) set_threads(a.threads);
    const Stopwatch watch;
    const std::string pattern = pattern_named(a.pattern);
    check_special(a.special);
    require(a.bpe.vocab_size >= 256 + std::ssize(a.special), ErrorCode::bad_config,
            "--vocab-size {} is too small: the 256 bytes and {} special tokens are {} already",
            a.bpe.vocab_size, a.special.size(), 256 + a.special.size());
    require(!std::filesystem::is_directory(a.out), ErrorCode::bad_config, "--out {} is a folder: name a file",
            a.out);
    try {
        const data::Regex test(pattern);
    } catch (const Error& error) {
        fail(ErrorCode::bad_config, "--pattern: {}", error.what());
    }
    a.words.pattern = pattern;
    a.words.special_tokens = a.special;
    PercentLine line;
    a.words.progress = [&](std::uint64_t done, std::uint64_t total) {
        line.show("counting words", done, total, fmt::format("{:.1f} MB", static_cast<double>(done) / 1e6));
    };
    const data::WordCounts counts = data::count_words(a.words);
    line.clear();
    require(!counts.words.empty(), ErrorCode::bad_data, "there is no text in the input: nothing was written");
    if (counts.dropped) log_warning("there are more different words than are kept: the rarest were left out");
    a.bpe.progress = [&](std::int64_t done, std::int64_t total) {
        line.show("merging pairs", static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total),
                  fmt::format("{} of {}", done, total));
    };
    const data::TrainedBpe trained = data::train_bpe(counts.words, std::ssize(a.special), a.bpe);
    line.clear();
    const std::int64_t vocab = std::ssize(trained.tokens) + std::ssize(a.special);
    if (vocab < a.bpe.vocab_size)
        log_warning(fmt::format("the vocabulary has {} tokens instead of {}: no other pair occurs {} times",
                                vocab, a.bpe.vocab_size, a.bpe.min_count));
    const std::filesystem::path folder = std::filesystem::path(a.out).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    write_file_atomic(a.out, data::tokenizer_json(trained, a.special, pattern));
    if (a.json) {
        const ordered_json document{{"tokenizer", a.out},
                                    {"vocab_size", vocab},
                                    {"merges", trained.merges.size()},
                                    {"words", counts.words.size()},
                                    {"text_bytes", counts.text_bytes},
                                    {"seconds", watch.seconds()}};
        fmt::print("{}\n", document.dump(2));
    } else {
        log_info(fmt::format("{}: {} tokens from {:.1f} MB of text ({} different words) in {:.1f} s", a.out,
                             vocab, static_cast<double>(counts.text_bytes) / 1e6, counts.words.size(),
                             watch.seconds()));
    }
}

struct CodeArguments {
    std::string tokenizer;
    std::string file = "-";
    bool json = false;
};

std::string input_text(const std::string& file) {
    data::TextInput input(file);
    return data::read_all(input);
}

void run_encode(const CodeArguments& a) {
    const auto tokenizer = data::load_tokenizer(a.tokenizer);
    const std::vector<data::TokenId> ids = tokenizer->encode(input_text(a.file));
    if (a.json) {
        fmt::print("{}\n", ordered_json(ids).dump());
    } else {
        fmt::print("{}\n", fmt::join(ids, " "));
    }
}

// Ids with anything between that can't belong to one: spaces, commas, brackets of a JSON list.
std::vector<data::TokenId> parse_ids(const std::string& text, const std::string& name) {
    std::vector<data::TokenId> ids;
    std::int64_t line = 1;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\n') ++line;
        if (std::string_view(" \t\r\n,[]").find(text[at]) != std::string_view::npos) {
            ++at;
            continue;
        }
        data::TokenId id = 0;
        const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
        require(error == std::errc(), ErrorCode::bad_data, "{}:{}: \"{}\" is no token id",
                name == "-" ? "standard input" : name, line, text.substr(at, 20));
        ids.push_back(id);
        at = static_cast<std::size_t>(end - text.data());
    }
    return ids;
}

void run_decode(const CodeArguments& a) {
    const auto tokenizer = data::load_tokenizer(a.tokenizer);
    const std::string text = tokenizer->decode(parse_ids(input_text(a.file), a.file));
    if (a.json) {
        fmt::print("{}\n", ordered_json(text).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    } else {
        std::fwrite(text.data(), 1, text.size(), stdout);
    }
}

void add_train(CLI::App& command) {
    auto a = std::make_shared<TrainArguments>();
    CLI::App* train =
        command.add_subcommand("train", "Make a vocabulary from text and write it as tokenizer.json");
    train->add_option("--type", a->type, "bpe: byte-level byte-pair encoding")->check(CLI::IsMember({"bpe"}));
    train->add_option("--vocab-size", a->bpe.vocab_size, "Tokens, the 256 bytes and special ones included")
        ->required()
        ->check(CLI::Range(1, 1 << 24));
    train->add_option("--out", a->out, "The tokenizer.json to write")->required();
    train
        ->add_option("--special-token", a->special,
                     "Tokens with the first ids; repeatable; default: <|endoftext|>")
        ->allow_extra_args(false);
    train->add_option("--pattern", a->pattern,
                      "How text is cut into words: gpt2, llama3, or a regular expression of your own");
    train
        ->add_option("--min-count", a->bpe.min_count,
                     "Pairs that occur less often are not merged; default: 2")
        ->check(CLI::Range(1, 1 << 30));
    train->add_option("--json-key", a->words.json_key, "Where JSONL files have the text; default: text");
    train->add_flag("--jsonl", a->words.jsonl, "Take all inputs as JSONL, whatever their names");
    train->add_option("--threads", a->threads, "Default: all processors of this process")
        ->check(CLI::Range(1, 4096));
    train->add_flag("--json", a->json, "Print a summary as one JSON document on standard output");
    train
        ->add_option("files", a->words.inputs,
                     "Text or JSONL (by the name: .jsonl, .ndjson, .json), plain, gzip, zstd or dictzip; - "
                     "is standard input")
        ->required();
    train->callback([a] { run_train(*a); });
}

}  // namespace

void add_tokenizer(CLI::App& app, int& /*status*/) {
    CLI::App* command = app.add_subcommand("tokenizer", "Train a tokenizer; encode and decode text");
    command->require_subcommand(1);
    add_train(*command);
    const auto add = [&](const char* name, const char* help, const char* file, const char* json,
                         auto action) {
        const auto a = std::make_shared<CodeArguments>();
        CLI::App* sub = command->add_subcommand(name, help);
        sub->add_option("--tokenizer", a->tokenizer,
                        "A tokenizer.json, a sentencepiece *.model, a folder with one of them, or bytes")
            ->required();
        sub->add_flag("--json", a->json, json);
        sub->add_option("file", a->file, file);
        sub->callback([a, action] { action(*a); });
    };
    add("encode", "The ids of a text, special tokens recognised, nothing added",
        "The text (plain, gzip, zstd); default: standard input",
        "A JSON list instead of ids with spaces between", run_encode);
    add("decode", "The text of ids",
        "Ids, with spaces or commas between, or a JSON list; default: standard input",
        "A JSON string instead of the bare text", run_decode);
}

}  // namespace longhaul::cli
