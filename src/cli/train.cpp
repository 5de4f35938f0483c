// longhaul train: one configuration file to a trained model.
#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel_for.h"
#include "cli/app.h"
#include "spec/config.h"
#include "spec/options.h"
#include "train/report.h"
#include "train/trainer.h"

namespace longhaul::cli {

namespace {

// Set by the handler, polled by the trainer between micro-batches. A signal handler can reach nothing but a
// global.
std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
    // The second one ends the process at once: the user means it.
    if (received_signal.exchange(number) != 0) {
        std::signal(number, SIG_DFL);
        std::raise(number);
    }
}

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

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
    catch_signals();
    train::TrainerOptions options;
    options.run_dir = o.run_dir.empty()
                          ? std::filesystem::path("runs") / std::filesystem::path(o.config).stem()
                          : std::filesystem::path(o.run_dir);
    options.resume = o.resume;
    options.terminal = ::isatty(STDERR_FILENO) == 1;
    options.signal = &received_signal;
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
