// Rows of the final table.
#include "train/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "observe/summary.h"

namespace longhaul::train {

std::string summary_json(const Summary& s, const std::filesystem::path& run_dir) {
    const auto optional = [](const std::optional<double>& value) {
        return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    };
    const nlohmann::ordered_json document{{"run_dir", run_dir.string()},
                                          {"first_step", s.first_step},
                                          {"last_step", s.last_step},
                                          {"steps", s.steps},
                                          {"skipped", s.skipped},
                                          {"tokens", s.tokens},
                                          {"seconds", s.seconds},
                                          {"first_loss", s.first_loss},
                                          {"last_loss", s.last_loss},
                                          {"first_validation_loss", optional(s.first_validation_loss)},
                                          {"last_validation_loss", optional(s.last_validation_loss)},
                                          {"tokens_per_s", s.tokens_per_s},
                                          {"mfu", s.mfu},
                                          {"peak_flops", s.peak_flops},
                                          {"planned_bytes", s.planned_bytes},
                                          {"used_bytes", s.used_bytes},
                                          {"resident_bytes", s.resident_bytes},
                                          {"checkpoint", s.checkpoint},
                                          {"sample", s.sample},
                                          {"interrupted_by", s.interrupted_by}};
    return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace longhaul::train
