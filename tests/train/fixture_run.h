// Trains a fixture model in this process, as its expected.json was made.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "spec/run.h"

namespace longhaul::train {

struct FixtureRun {
    std::vector<double> losses;
    std::vector<double> grad_norms;
    std::map<std::string, double> first_tensor_norms;  // by Hugging Face name, at step 1
    std::map<std::string, double> final_weight_norms;
};

[[nodiscard]] std::filesystem::path fixture(const std::string& name);
// The run that expected.json describes, with `change` applied to its specification.
[[nodiscard]] spec::Run fixture_spec(const std::string& name, spec::OptimizerName optimizer, DType precision);
[[nodiscard]] FixtureRun run_fixture(const std::string& name, const spec::Run& run);

}  // namespace longhaul::train
