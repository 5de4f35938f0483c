// `longhaul checkpoint inspect|verify DIR`: what a checkpoint holds, and whether all of it is whole.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "checkpoint/load.h"
#include "checkpoint/manifest.h"
#include "cli/app.h"

namespace longhaul::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
    std::string directory;
    bool json = false;
};

std::size_t total_bytes(const checkpoint::Manifest& manifest) {
    std::size_t total = 0;
    for (const checkpoint::StoredFile& file : manifest.files) total += file.bytes;
    return total;
}

Json inspect_json(const checkpoint::Checkpoint& opened) {
    const checkpoint::Manifest& manifest = opened.manifest();
    const checkpoint::TrainingState& state = manifest.state;
    Json json;
    json["directory"] = opened.directory().string();
    json["step"] = state.step;
    json["tokens"] = state.tokens;
    json["samples"] = state.samples;
    json["updates"] = state.updates;
    json["bad_steps_total"] = state.bad_steps_total;
    json["bad_steps_in_row"] = state.bad_steps_in_row;
    json["data_fingerprint"] = hash_hex(state.data_fingerprint);
    json["tokenizer_fingerprint"] = hash_hex(state.tokenizer_fingerprint);
    json["best_loss"] = std::isfinite(state.best_loss) ? Json(state.best_loss) : Json(nullptr);
    json["parameters"] = manifest.parameters();
    json["has_optimizer"] = opened.has_optimizer();
    json["bytes"] = total_bytes(manifest);
    json["config"] = manifest.config_toml;
    json["files"] = Json::array();
    for (const checkpoint::StoredFile& file : manifest.files)
        json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", hash_hex(file.hash)}});
    json["tensors"] = Json::array();
    for (const checkpoint::StoredTensor& tensor : manifest.tensors) {
        json["tensors"].push_back({{"kind", tensor.kind},
                                   {"name", tensor.name},
                                   {"dtype", tensor.dtype},
                                   {"shape", tensor.shape},
                                   {"file", tensor.slices.front().file},
                                   {"xxh3", hash_hex(tensor.slices.front().hash)}});
    }
    return json;
}

void print_inspect(const checkpoint::Checkpoint& opened) {
    const checkpoint::Manifest& manifest = opened.manifest();
    const checkpoint::TrainingState& state = manifest.state;
    fmt::print("{}\n  step {}, {} samples, {} tokens, {} skipped steps\n  {} parameters, {} bytes{}\n",
               opened.directory().string(), state.step, state.samples, state.tokens, state.bad_steps_total,
               manifest.parameters(), total_bytes(manifest), opened.has_optimizer() ? "" : ", weights only");
    fmt::print("files\n");
    for (const checkpoint::StoredFile& file : manifest.files)
        fmt::print("  {:<32} {:>14}  {}\n", file.name, file.bytes, hash_hex(file.hash));
    fmt::print("tensors\n");
    for (const checkpoint::StoredTensor& tensor : manifest.tensors) {
        fmt::print("  {:<7} {:<40} {:<5} {:<16} {}\n", tensor.kind, tensor.name, tensor.dtype,
                   fmt::format("[{}]", fmt::join(tensor.shape, ", ")), tensor.slices.front().file);
    }
}

void inspect(const Arguments& arguments) {
    const auto opened =
        checkpoint::Checkpoint::open(checkpoint::resolve(arguments.directory), checkpoint::Check::sizes);
    if (arguments.json) {
        fmt::print("{}\n", inspect_json(opened).dump(2));
    } else {
        print_inspect(opened);
    }
}

bool verify(const Arguments& arguments) {
    const std::vector<checkpoint::Verified> all = checkpoint::verify_all(arguments.directory);
    bool whole = true;
    Json json;
    json["checkpoints"] = Json::array();
    for (const checkpoint::Verified& one : all) {
        whole = whole && one.faults.empty();
        json["checkpoints"].push_back(
            {{"directory", one.dir.string()}, {"whole", one.faults.empty()}, {"faults", one.faults}});
        if (arguments.json) continue;
        fmt::print("{}: {}\n", one.dir.string(),
                   one.faults.empty() ? std::string("whole") : fmt::format("{} faults", one.faults.size()));
        for (const std::string& fault : one.faults) fmt::print("  {}\n", fault);
    }
    json["whole"] = whole;
    if (arguments.json) fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    return whole;
}

}  // namespace

void add_checkpoint(CLI::App& app, int& status) {
    CLI::App* command = app.add_subcommand("checkpoint", "Look into checkpoints and verify them");
    command->require_subcommand(1);
    const auto add = [&](const char* name, const char* help, auto action) {
        const auto arguments = std::make_shared<Arguments>();
        CLI::App* sub = command->add_subcommand(name, help);
        sub->add_option("directory", arguments->directory,
                        "Checkpoint, folder of checkpoints, or run directory")
            ->required();
        sub->add_flag("--json", arguments->json, "Print one JSON document");
        sub->callback([arguments, action] { action(*arguments); });
    };
    add("inspect", "Step, sizes and tensors of a checkpoint (the newest complete one of a run)", inspect);
    add("verify", "Read everything and name every fault; exit status 3 where there is one",
        [&status](const Arguments& arguments) {
            if (!verify(arguments)) status = exit_status(ErrorCode::bad_data);
        });
}

}  // namespace longhaul::cli
