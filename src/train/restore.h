// Where a run begins: from a checkpoint with everything, from given weights, or from initial values.
#pragma once

#include <string>

#include "checkpoint/state.h"
#include "observe/run_directory.h"
#include "optim/optimizer.h"
#include "spec/run.h"

namespace longhaul::train {

struct Restored {
    bool resumed = false;
    std::string from;  // the checkpoint; empty for a fresh start
    checkpoint::TrainingState state;
};

// What a checkpoint must agree with.
struct Fingerprints {
    std::uint64_t data = 0;
    std::uint64_t tokenizer = 0;
};

// resume: auto | never | a checkpoint. Fills weights (and moments where a run goes on). Errors: bad_config
// where the checkpoint belongs to another model, optimizer or other data; bad_data where it is damaged and no
// complete one is left. With `never`, checkpoints that stand in the run directory are moved aside, not
// removed.
Restored restore_run(const spec::Run& run, const std::string& resume, const observe::RunDirectory& directory,
                     model::Parameters& parameters, const optim::Optimizer& optimizer,
                     const Fingerprints& fingerprints);

}  // namespace longhaul::train
