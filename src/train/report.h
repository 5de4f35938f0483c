// The summary of a run as text and as JSON.
#pragma once

#include <filesystem>
#include <string>

#include "train/trainer.h"

namespace longhaul::train {

[[nodiscard]] std::string summary_text(const Summary& summary);
[[nodiscard]] std::string summary_json(const Summary& summary, const std::filesystem::path& run_dir);

}  // namespace longhaul::train
