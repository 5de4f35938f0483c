// Lines of JSON and back.
#include "observe/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace longhaul::observe {

using nlohmann::ordered_json;

namespace {

ordered_json number(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

double real(const ordered_json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return std::nan("");
    return found->get<double>();
}

constexpr std::array kReals = {"loss",
                               "grad_norm",
                               "lr",
                               "step_ms",
                               "tokens_per_s",
                               "mfu",
                               "bubble_ms",
                               "exposed_comm_ms",
                               "data_wait_ms",
                               "checkpoint_stall_ms",
                               "validation_loss"};

// Whether a parsed line is a metrics object: a step, and no known field of another type.
bool is_metrics(const ordered_json& object) {
    if (!object.is_object() || !object.contains("step")) return false;
    const auto each = [&](const char* key, auto fine) {
        const auto found = object.find(key);
        return found == object.end() || fine(*found);
    };
    const auto integer = [](const ordered_json& value) { return value.is_number_integer(); };
    const auto boolean = [](const ordered_json& value) { return value.is_boolean(); };
    const auto real_or_null = [](const ordered_json& value) { return value.is_number() || value.is_null(); };
    return each("step", integer) && each("tokens", integer) && each("restarts", integer) &&
           each("skipped", boolean) && std::all_of(kReals.begin(), kReals.end(), [&](const char* key) {
               return each(key, real_or_null);
           });
}

std::filesystem::path truncated(const std::filesystem::path& path, std::int64_t step) {
    truncate_after(path, step);
    return path;
}

}  // namespace

void truncate_after(const std::filesystem::path& path, std::int64_t step) {
    if (!std::filesystem::exists(path)) return;
    std::ifstream file(path);
    std::string kept;
    std::string line;
    bool dropped = false;
    while (std::getline(file, line)) {
        const auto object = ordered_json::parse(line, nullptr, false);
        if (is_metrics(object) && object["step"].get<std::int64_t>() <= step) {
            kept += line + "\n";
        } else {
            dropped = true;
        }
    }
    if (dropped) write_file_atomic(path, kept);
}

MetricsLog::MetricsLog(const std::filesystem::path& path, std::int64_t step) : file_(truncated(path, step)) {}

void MetricsLog::append(const StepMetrics& m) {
    ordered_json object{{"step", m.step},
                        {"loss", number(m.loss)},
                        {"grad_norm", number(m.grad_norm)},
                        {"lr", number(m.lr)},
                        {"tokens", m.tokens},
                        {"step_ms", number(m.step_ms)},
                        {"tokens_per_s", number(m.tokens_per_s)},
                        {"mfu", number(m.mfu)},
                        {"bubble_ms", number(m.bubble_ms)},
                        {"exposed_comm_ms", number(m.exposed_comm_ms)},
                        {"data_wait_ms", number(m.data_wait_ms)},
                        {"checkpoint_stall_ms", number(m.checkpoint_stall_ms)},
                        {"restarts", m.restarts}};
    if (m.skipped) object["skipped"] = true;
    if (m.validation_loss) object["validation_loss"] = number(*m.validation_loss);
    file_.append(object.dump());
}

std::vector<StepMetrics> read_metrics(const std::filesystem::path& path) {
    std::ifstream file(path);
    require(file.is_open(), ErrorCode::bad_data, "cannot open {}", path.string());
    std::vector<StepMetrics> all;
    std::string line;
    std::int64_t number_of_line = 0;
    while (std::getline(file, line)) {
        ++number_of_line;
        const bool torn = file.eof();  // no newline behind it
        const auto object = ordered_json::parse(line, nullptr, false);
        if (!is_metrics(object)) {
            if (torn) break;
            if (line.empty()) continue;
            fail(ErrorCode::bad_data, "{}:{} is no line of metrics", path.string(), number_of_line);
        }
        StepMetrics m;
        m.step = object["step"].get<std::int64_t>();
        m.loss = real(object, "loss");
        m.grad_norm = real(object, "grad_norm");
        m.lr = real(object, "lr");
        m.tokens = object.value("tokens", std::int64_t{0});
        m.step_ms = real(object, "step_ms");
        m.tokens_per_s = real(object, "tokens_per_s");
        m.mfu = real(object, "mfu");
        m.bubble_ms = real(object, "bubble_ms");
        m.exposed_comm_ms = real(object, "exposed_comm_ms");
        m.data_wait_ms = real(object, "data_wait_ms");
        m.checkpoint_stall_ms = real(object, "checkpoint_stall_ms");
        m.restarts = object.value("restarts", std::int64_t{0});
        m.skipped = object.value("skipped", false);
        if (object.contains("validation_loss")) m.validation_loss = real(object, "validation_loss");
        all.push_back(m);
    }
    return all;
}

}  // namespace longhaul::observe
