// Rows of the final table.
#include "train/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "observe/summary.h"

namespace longhaul::train {

std::string summary_text(const Summary& s) {
    std::vector<observe::TableRow> rows;
    const auto add = [&](const char* name, std::string value) { rows.push_back({name, std::move(value)}); };
    add("steps", s.first_step == 0 ? fmt::format("{}", s.last_step)
                                   : fmt::format("{} (this process: {})", s.last_step, s.steps));
    add("tokens", fmt::format("{}", s.tokens));
    add("time", human_duration(s.seconds));
    add("speed (median)", fmt::format("{:.0f} tokens/s, MFU {:.1f}% of {:.0f} GFLOP/s", s.tokens_per_s,
                                      100 * s.mfu, s.peak_flops / 1e9));
    if (s.steps > 0)
        add("loss, first and last step", fmt::format("{:.4f} -> {:.4f}", s.first_loss, s.last_loss));
    if (s.last_validation_loss) {
        add("validation loss",
            s.first_validation_loss
                ? fmt::format("{:.4f} -> {:.4f}", *s.first_validation_loss, *s.last_validation_loss)
                : fmt::format("{:.4f}", *s.last_validation_loss));
    }
    if (s.skipped > 0) add("skipped steps", fmt::format("{}", s.skipped));
    add("memory planned / used",
        observe::human_bytes(s.planned_bytes) + " / " + observe::human_bytes(s.used_bytes));
    add("process, largest resident", observe::human_bytes(s.resident_bytes));
    add("checkpoint", s.checkpoint.empty() ? "none" : s.checkpoint);
    if (s.interrupted_by != 0) add("ended by signal", fmt::format("{}", s.interrupted_by));
    return "Summary\n" + observe::table(rows);
}

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
