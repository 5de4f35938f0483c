// The samples of a run, from its specification.
#pragma once

#include <memory>

#include "data/samples.h"
#include "spec/run.h"

namespace longhaul::train {

// The run with train.seq set: what a .npy file of batches holds, else model.seq. Errors as
// open_training_data.
[[nodiscard]] spec::Run with_sequence(const spec::Run& run);

[[nodiscard]] std::unique_ptr<data::SampleSource> open_training_data(const spec::Run& run);
// Null where the run has no validation data.
[[nodiscard]] std::unique_ptr<data::SampleSource> open_validation_data(const spec::Run& run);

}  // namespace longhaul::train
