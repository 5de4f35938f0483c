// longhaul data pack|inspect: text files to packed tokens, and what packed tokens hold.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/app.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "data/dataset_report.h"
#include "data/pack.h"

namespace longhaul::cli {

namespace {

using nlohmann::ordered_json;

struct PackArguments {
    std::string tokenizer;
    std::string separator = "none";
    std::string end_token;  // empty: the tokenizer's own
    std::string on_error = "stop";
    bool no_end = false;
    bool json = false;
    data::PackOptions options;
};

std::optional<data::TokenId> end_of_document(const PackArguments& a, const data::Tokenizer& tokenizer) {
    if (a.no_end) return std::nullopt;
    if (!a.end_token.empty()) {
        const auto id = tokenizer.id_of(a.end_token);
        require(id.has_value(), ErrorCode::bad_config, "--end-token: the tokenizer {} has no token \"{}\"",
                a.tokenizer, a.end_token);
        return id;
    }
    const auto id = tokenizer.end_of_document();
    require(id.has_value(), ErrorCode::bad_config,
            "the tokenizer {} has no token that ends a document: name one by --end-token, or pack without by "
            "--no-end-token",
            a.tokenizer);
    return id;
}

ordered_json summary_json(const data::PackSummary& summary) {
    ordered_json json;
    json["type"] = summary.type;
    json["input_bytes"] = summary.input_bytes;
    json["skipped_lines"] = summary.skipped;
    json["empty_documents"] = summary.empty;
    json["seconds"] = summary.seconds;
    json["parts"] = ordered_json::array();
    for (const auto& part : summary.parts) {
        json["parts"].push_back({{"prefix", part.prefix},
                                 {"documents", part.documents},
                                 {"tokens", part.tokens},
                                 {"text_bytes", part.text_bytes}});
    }
    return json;
}

int run_pack(PackArguments a) {
    const auto tokenizer = data::load_tokenizer(a.tokenizer);
    a.options.end_of_document = end_of_document(a, *tokenizer);
    a.options.separator = data::Separator::parse(a.separator);
    a.options.skip_errors = a.on_error == "skip";
    a.options.tokenizer_name = a.tokenizer;
    const std::atomic<int>& signal = catch_signals();
    a.options.interrupted = [&signal] { return signal != 0; };
    PercentLine line;
    const Stopwatch watch;
    a.options.progress = [&](const data::PackProgress& p) {
        const double rate = static_cast<double>(p.text_bytes) / std::max(watch.seconds(), 1e-9);
        line.show("packing", p.input_bytes, p.total_bytes,
                  fmt::format("{} documents, {:.2f} M tokens, {}/s", p.documents,
                              static_cast<double>(p.tokens) / 1e6, human_bytes(rate)));
    };
    data::PackSummary summary;
    try {
        summary = data::pack(*tokenizer, a.options);
    } catch (const data::Interrupted&) {
        line.clear();
        log_warning("interrupted: nothing was written");
        return 128 + signal;
    }
    line.clear();
    if (a.json) {
        fmt::print("{}\n", summary_json(summary).dump(2, ' ', false, ordered_json::error_handler_t::replace));
        return 0;
    }
    std::int64_t text_bytes = 0;
    for (const auto& part : summary.parts) {
        text_bytes += part.text_bytes;
        log_info(fmt::format("{}: {} documents, {} tokens ({}), {} of text, {:.2f} bytes/token", part.prefix,
                             part.documents, part.tokens, summary.type,
                             human_bytes(static_cast<double>(part.text_bytes)),
                             static_cast<double>(part.text_bytes) /
                                 static_cast<double>(std::max<std::int64_t>(part.tokens, 1))));
    }
    if (summary.skipped > 0) log_warning(fmt::format("{} broken lines were left out", summary.skipped));
    log_info(fmt::format("packed in {:.1f} s, {}/s", summary.seconds,
                         human_bytes(static_cast<double>(text_bytes) / std::max(summary.seconds, 1e-9))));
    return 0;
}

struct InspectArguments {
    std::string prefix;
    std::string tokenizer;
    std::int64_t show = 0;
    bool json = false;
};

ordered_json report_json(const data::DatasetReport& r) {
    ordered_json json{{"prefix", r.prefix},
                      {"type", r.type},
                      {"documents", r.documents},
                      {"sequences", r.sequences},
                      {"tokens", r.tokens},
                      {"bytes", r.bytes},
                      {"shortest_document", r.shortest},
                      {"longest_document", r.longest},
                      {"mean_document", r.mean},
                      {"smallest_id", r.smallest_id},
                      {"largest_id", r.largest_id},
                      {"distinct_ids", r.distinct_ids},
                      {"fingerprint", hash_hex(r.fingerprint)}};
    if (r.meta) json["meta"] = ordered_json::parse(data::to_json(*r.meta));
    return json;
}

void print_report(const data::DatasetReport& r) {
    fmt::print("{}\n  {} tokens ({}, {}), {} documents, {} sequences\n", r.prefix, r.tokens, r.type,
               human_bytes(static_cast<double>(r.bytes)), r.documents, r.sequences);
    fmt::print("  documents of {} to {} tokens, {:.1f} on average\n", r.shortest, r.longest, r.mean);
    fmt::print("  {} different ids from {} to {}\n  fingerprint {}\n", r.distinct_ids, r.smallest_id,
               r.largest_id, hash_hex(r.fingerprint));
    if (!r.meta) return;
    fmt::print("  packed with {} ({} tokens, {}), {} of text from {}\n", r.meta->tokenizer, r.meta->vocab,
               hash_hex(r.meta->tokenizer_fingerprint), human_bytes(static_cast<double>(r.meta->text_bytes)),
               fmt::join(r.meta->sources, ", "));
}

void run_inspect(const InspectArguments& a) {
    const data::IndexedDataset dataset(data::dataset_prefix(a.prefix));
    const data::DatasetReport report = data::report(dataset);
    const auto tokenizer = a.tokenizer.empty() ? nullptr : data::load_tokenizer(a.tokenizer);
    const std::int64_t shown = std::min(a.show, report.documents);
    if (a.json) {
        ordered_json json = report_json(report);
        for (std::int64_t d = 0; d < shown; ++d) {
            const auto ids = dataset.document(d);
            ordered_json document{{"ids", ids}};
            if (tokenizer) document["text"] = tokenizer->decode(ids);
            json["first_documents"].push_back(std::move(document));
        }
        fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
        return;
    }
    print_report(report);
    for (std::int64_t d = 0; d < shown; ++d) {
        const auto ids = dataset.document(d);
        fmt::print("document {}: {}\n", d,
                   tokenizer ? tokenizer->decode(ids) : fmt::format("{}", fmt::join(ids, " ")));
    }
}

void add_pack(CLI::App& command, int& status) {
    auto a = std::make_shared<PackArguments>();
    CLI::App* pack =
        command.add_subcommand("pack", "Text to PREFIX.bin and PREFIX.idx, in Megatron's indexed format");
    pack->add_option("--tokenizer", a->tokenizer,
                     "A tokenizer.json, a sentencepiece *.model, a folder with one of them, or bytes")
        ->required();
    pack->add_option("--out", a->options.prefix, "PREFIX of the files to write")->required();
    pack->add_option("--json-key", a->options.json_key, "Where JSONL files have the text; default: text");
    pack->add_flag("--jsonl", a->options.jsonl, "Take all inputs as JSONL, whatever their names");
    pack->add_option(
        "--document-separator", a->separator,
        "Where documents of plain text end: none (a file is one), blank-lines, lines, or line=TEXT (lines "
        "that are exactly TEXT)");
    pack->add_option("--validation-fraction", a->options.validation_fraction,
                     "Share of the documents that goes to PREFIX-validation instead, spread evenly; 0 to 0.5")
        ->check(CLI::Range(0.0, 0.5));
    pack->add_option("--end-token", a->end_token, "Token behind each document; default: the tokenizer's own");
    pack->add_flag("--no-end-token", a->no_end, "Put nothing behind documents")->excludes("--end-token");
    pack->add_option("--on-error", a->on_error, "At a broken line: stop, or skip it (and count and name it)")
        ->check(CLI::IsMember({"stop", "skip"}));
    pack->add_option("--threads", a->options.threads,
                     "Tokenizing threads; default: all processors of this process")
        ->check(CLI::Range(1, 4096));
    pack->add_flag("--json", a->json, "Print a summary as one JSON document on standard output");
    pack->add_option("files", a->options.inputs,
                     "Text or JSONL (by the name: .jsonl, .ndjson, .json), plain, gzip, zstd or dictzip; - "
                     "is standard input")
        ->required();
    pack->callback([a, &status] { status = run_pack(*a); });
}

}  // namespace

void add_data(CLI::App& app, int& status) {
    CLI::App* command = app.add_subcommand("data", "Pack text into tokens; look into packed data");
    command->require_subcommand(1);
    add_pack(*command, status);
    auto a = std::make_shared<InspectArguments>();
    CLI::App* inspect = command->add_subcommand("inspect", "Sizes, lengths and ids of a packed data set");
    inspect->add_option("prefix", a->prefix, "PREFIX of the data set")->required();
    inspect->add_option("--show", a->show, "Print the first N documents too")->check(CLI::Range(0, 1 << 30));
    inspect->add_option("--tokenizer", a->tokenizer, "Print them as text");
    inspect->add_flag("--json", a->json, "Print one JSON document");
    inspect->callback([a] { run_inspect(*a); });
}

}  // namespace longhaul::cli
