// longhaul train: one configuration file to a trained model.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel_for.h"
#include "cli/app.h"
#include "cli/signals.h"
#include "spec/config.h"
#include "spec/options.h"
#include "train/report.h"
#include "train/trainer.h"

namespace longhaul::cli {

namespace {

struct TrainOptions {
    std::string config;
    std::vector<std::string> sets;
    std::string run_dir;
    std::string resume = "auto";
    bool json = false;
    bool help_config = false;
};

int run_train(const TrainOptions& o) {
    if (o.help_config) {
        fmt::print("{}", spec::options_markdown());
        return 0;
    }
    require(!o.config.empty(), ErrorCode::bad_config,
            "train needs a configuration file; `longhaul train --help-config` lists what may stand in it");
    const spec::Run run = spec::load_config(o.config, o.sets);
    require(!run.data.train.empty(), ErrorCode::bad_config,
            "{}: data.train is missing: name packed prefixes (made by `longhaul data pack`) or a .npy file",
            o.config);
    if (run.train.threads > 0) set_threads(static_cast<int>(run.train.threads));
    train::TrainerOptions options;
    options.run_dir = o.run_dir.empty()
                          ? std::filesystem::path("runs") / std::filesystem::path(o.config).stem()
                          : std::filesystem::path(o.run_dir);
    options.resume = o.resume;
    options.terminal = ::isatty(STDERR_FILENO) == 1;
    options.signal = &catch_signals();
    const train::Summary summary = train::train(run, options);
    if (o.json) {
        fmt::print("{}\n", train::summary_json(summary, options.run_dir));
    } else {
        fmt::print(stderr, "{}", train::summary_text(summary));
        if (!summary.sample.empty()) fmt::print("{}\n", summary.sample);
    }
    return summary.interrupted_by == 0 ? 0 : 128 + summary.interrupted_by;
}

}  // namespace

void add_train(CLI::App& app, int& status) {
    auto o = std::make_shared<TrainOptions>();
    CLI::App* train = app.add_subcommand(
        "train", "Train a model as a configuration file says; resume where a run was left");
    train->add_option("config", o->config, "Configuration file (TOML)");
    train->add_option("--set", o->sets, "section.key=value over the file; repeatable")
        ->allow_extra_args(false);
    train->add_option("--run-dir", o->run_dir,
                      "Where everything of the run is written; default: runs/NAME-OF-CONFIG");
    train->add_option("--resume", o->resume,
                      "auto: from the run directory's newest complete checkpoint, or from the start where it "
                      "has none; never: from the start; or a checkpoint");
    train->add_flag("--json", o->json, "Print the summary as one JSON document on standard output");
    train->add_flag("--help-config", o->help_config,
                    "List all options of configuration files and the presets");
    train->callback([o, &status] { status = run_train(*o); });
}

}  // namespace longhaul::cli
