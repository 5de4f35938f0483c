// Chooses and checks the beginning of a run.
#include "train/restore.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "base/time.h"
#include "checkpoint/load.h"
#include "spec/options.h"
#include "train/session.h"

namespace longhaul::train {

namespace {

namespace fs = std::filesystem;

// Options of [model] that differ, "hidden: 64 in the checkpoint, 128 here". Dropout may change in mid-run.
std::vector<std::string> model_differences(spec::Run saved, spec::Run wanted) {
    std::vector<std::string> differences;
    const auto theirs = spec::options(saved);
    const auto ours = spec::options(wanted);
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours[i].section != "model" || ours[i].key == "dropout" || ours[i].key == "init_std") continue;
        const std::string a = spec::value_text(theirs[i]);
        const std::string b = spec::value_text(ours[i]);
        if (a != b)
            differences.push_back(fmt::format("{}: {} in the checkpoint, {} here", ours[i].key, a, b));
    }
    return differences;
}

void check_compatible(const checkpoint::Checkpoint& saved, const spec::Run& run,
                      const Fingerprints& fingerprints) {
    const std::string where = saved.directory().string();
    const spec::Run saved_run = saved.run();
    const auto differences = model_differences(saved_run, run);
    require(differences.empty(), ErrorCode::bad_config, "{} is of another model:\n  {}", where,
            fmt::join(differences, "\n  "));
    require(
        saved.has_optimizer(), ErrorCode::bad_config,
        "{} holds weights only, so a run can't go on from it; start a new run with train.init_from = \"{}\"",
        where, where);
    require(saved_run.optimizer.name == run.optimizer.name, ErrorCode::bad_config,
            "{} holds the state of another optimizer than optimizer.name; start a new run with "
            "train.init_from to change it",
            where);
    require(saved.state().data_fingerprint == fingerprints.data, ErrorCode::bad_config,
            "the training data, its weights, order, sequence length or seed differ from what {} was trained "
            "on, so samples would be repeated or left out. "
            "Give the same [data], or start a new run with train.init_from = \"{}\"",
            where, where);
    require(fingerprints.tokenizer == 0 || saved.state().tokenizer_fingerprint == 0 ||
                saved.state().tokenizer_fingerprint == fingerprints.tokenizer,
            ErrorCode::bad_config, "data.tokenizer is not the one that {} was trained with", where);
    if (saved_run.train.global_batch != run.train.global_batch ||
        saved_run.train.precision != run.train.precision) {
        log_warning(
            "train.global_batch or train.precision differ from the checkpoint's: the run goes on, but not as "
            "it would have");
    }
}

Restored take(const checkpoint::Checkpoint& saved, const spec::Run& run, const model::Parameters& parameters,
              const optim::Optimizer& optimizer, const Fingerprints& fingerprints) {
    check_compatible(saved, run, fingerprints);
    saved.read_weights(parameters.layout(), parameters.masters());
    saved.read_optimizer("m", parameters.layout(), optimizer.first_moments());
    saved.read_optimizer("v", parameters.layout(), optimizer.second_moments());
    log_info(fmt::format("resuming from {} at step {}", saved.directory().string(), saved.state().step));
    return {true, saved.directory().string(), saved.state()};
}

void move_aside(const fs::path& checkpoints) {
    if (!fs::exists(checkpoints)) return;
    const fs::path aside =
        checkpoints.parent_path() /
        fmt::format("{}.before-{}", checkpoints.filename().string(), static_cast<std::int64_t>(unix_time()));
    fs::rename(checkpoints, aside);
    log_warning(
        fmt::format("--resume never: the checkpoints of an earlier run were moved to {}", aside.string()));
}

}  // namespace

Restored restore_run(const spec::Run& run, const std::string& resume, const observe::RunDirectory& directory,
                     model::Parameters& parameters, const optim::Optimizer& optimizer,
                     const Fingerprints& fingerprints) {
    if (resume == "never") {
        move_aside(directory.checkpoints());
    } else if (resume == "auto") {
        if (const auto found = checkpoint::newest_complete(directory.checkpoints())) {
            if (!found->passed_over.empty()) log_warning(found->statement());
            return take(found->checkpoint, run, parameters, optimizer, fingerprints);
        }
    } else {
        return take(checkpoint::Checkpoint::open(checkpoint::resolve(resume)), run, parameters, optimizer,
                    fingerprints);
    }
    if (run.train.init_from.empty()) {
        parameters.initialise(static_cast<std::uint64_t>(run.train.seed));
    } else {
        read_weights(run.train.init_from, run.model, parameters);
        log_info("weights from " + run.train.init_from);
    }
    return {};
}

}  // namespace longhaul::train
