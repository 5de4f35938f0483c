// `longhaul import HF_DIR --out CHECKPOINT` and `longhaul export CHECKPOINT --out HF_DIR`.
#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/load.h"
#include "checkpoint/manifest.h"
#include "checkpoint/save.h"
#include "cli/app.h"
#include "spec/config.h"

namespace longhaul::cli {

namespace fs = std::filesystem;

namespace {

struct ImportOptions {
    std::string from;
    std::string out;
    bool force = false;
    bool json = false;
};

struct ExportArguments {
    std::string from;
    std::string out;
    std::string dtype = "fp32";
    std::string shard_size = "5GB";
    bool force = false;
    bool json = false;
};

// "5GB", "500MB", "1000000": decimal units, as the ecosystem's tools use them.
std::int64_t parse_size(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string unit(end, text.data() + text.size());
    std::int64_t scale = 0;
    for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"", 1},
                                      {"B", 1},
                                      {"KB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000}}) {
        if (unit == name) scale = value;
    }
    std::int64_t bytes = 0;
    require(error == std::errc() && number > 0 && scale > 0 && !__builtin_mul_overflow(number, scale, &bytes),
            ErrorCode::bad_config, "--max-shard-size {} is no size such as 500MB or 5GB", text);
    return bytes;
}

fs::path without_slash(const fs::path& path) {
    return path.has_filename() ? path : path.parent_path();
}

// A checkpoint may be replaced where the user says so; a directory with anything else in it never.
void require_free(const fs::path& out, bool force) {
    std::error_code error;
    if (!fs::exists(out, error)) return;
    require(fs::is_directory(out, error), ErrorCode::bad_config, "{} is there and is no directory",
            out.string());
    if (fs::is_empty(out, error)) return;
    require(force, ErrorCode::bad_config, "{} is not empty; --force replaces a checkpoint", out.string());
    require(fs::exists(out / checkpoint::kManifestName, error), ErrorCode::bad_config,
            "{} holds other things than a checkpoint: name another directory", out.string());
}

void run_import(const ImportOptions& options) {
    const fs::path out = without_slash(options.out);
    require_free(out, options.force);
    require(fs::is_directory(options.from), ErrorCode::bad_data, "{} is not a directory", options.from);
    const checkpoint::HuggingFaceConfig config = checkpoint::read_hf_config(options.from);
    const model::Layout layout = model::make_layout(config.model);
    std::vector<float> flat(static_cast<std::size_t>(layout.size));
    checkpoint::read_hf_weights(options.from, config.model, layout, flat);

    spec::Run run;
    run.model = config.model;
    checkpoint::SaveRequest request;
    request.special_tokens = config.special_tokens;
    request.config_toml = spec::to_toml(run);
    request.weights = checkpoint::saved_tensors(layout, flat);
    request.tokenizer_files = checkpoint::hf_tokenizer_files(options.from);
    std::error_code error;
    if (out.has_parent_path()) fs::create_directories(out.parent_path(), error);
    checkpoint::save_as(out, request);
    if (options.json) {
        const nlohmann::json result = {{"checkpoint", out.string()},
                                       {"parameters", layout.parameters},
                                       {"tensors", layout.tensors.size()},
                                       {"tokenizer_files", request.tokenizer_files.size()}};
        fmt::print("{}\n", result.dump(2));
    } else {
        fmt::print("imported {} parameters in {} tensors from {} to {}\n", layout.parameters,
                   layout.tensors.size(), options.from, out.string());
    }
}

void run_export(const ExportArguments& arguments) {
    checkpoint::ExportOptions options;
    options.dtype = arguments.dtype == "bf16"   ? DType::bf16
                    : arguments.dtype == "fp16" ? DType::f16
                                                : DType::f32;
    options.max_shard_bytes = parse_size(arguments.shard_size);
    options.replace = arguments.force;
    const auto opened = checkpoint::Checkpoint::open(checkpoint::resolve(arguments.from));
    options.special_tokens = opened.special_tokens();
    options.tokenizer_files = opened.tokenizer_files();
    const fs::path out = without_slash(arguments.out);
    const spec::Model model = opened.run().model;
    checkpoint::export_hf(
        out, model,
        [&](const model::GlobalTensor& tensor, std::span<float> values) {
            opened.read_weight(tensor.name, values);
        },
        options);
    if (arguments.json) {
        const nlohmann::json result = {{"directory", out.string()},
                                       {"checkpoint", opened.directory().string()},
                                       {"step", opened.state().step},
                                       {"parameters", opened.manifest().parameters()},
                                       {"dtype", arguments.dtype}};
        fmt::print("{}\n", result.dump(2));
    } else {
        fmt::print("exported {} parameters of {} (step {}) to {} as {}\n", opened.manifest().parameters(),
                   opened.directory().string(), opened.state().step, out.string(), arguments.dtype);
    }
}

}  // namespace

void add_import(CLI::App& app, int& /*status*/) {
    const auto options = std::make_shared<ImportOptions>();
    CLI::App* command =
        app.add_subcommand("import", "Make a checkpoint of a Hugging Face folder (weights only)");
    command->add_option("folder", options->from, "Folder with config.json and safetensors")->required();
    command->add_option("--out", options->out, "Checkpoint directory to make")->required();
    command->add_flag("--force", options->force, "Replace a checkpoint that is there");
    command->add_flag("--json", options->json, "Print one JSON document");
    command->callback([options] { run_import(*options); });
}

void add_export(CLI::App& app, int& /*status*/) {
    const auto options = std::make_shared<ExportArguments>();
    CLI::App* command = app.add_subcommand("export", "Make a Hugging Face folder of a checkpoint");
    command->add_option("checkpoint", options->from, "Checkpoint, or run directory for its newest one")
        ->required();
    command->add_option("--out", options->out, "Folder to make")->required();
    command->add_option("--dtype", options->dtype, "Type of the stored weights")
        ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
        ->capture_default_str();
    command
        ->add_option("--max-shard-size", options->shard_size, "Cut the weights into files of about this size")
        ->capture_default_str();
    command->add_flag("--force", options->force, "Replace an exported model that is there");
    command->add_flag("--json", options->json, "Print one JSON document");
    command->callback([options] { run_export(*options); });
}

}  // namespace longhaul::cli
