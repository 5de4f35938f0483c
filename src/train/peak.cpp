// Measures once for a run directory.
#include "train/peak.h"

#include <sys/resource.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/parallel_for.h"
#include "kernels/peak.h"

namespace longhaul::train {

namespace {

constexpr double kSeconds = 0.3;

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    std::string line;
    while (std::getline(info, line)) {
        if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
    }
    return "unknown";
}

}  // namespace

double peak_rate(const kernels::Device& device, DType precision, const std::filesystem::path& file) {
    const nlohmann::ordered_json wanted{{"processor", processor_name()},
                                        {"isa", kernels::name_of(device.isa())},
                                        {"threads", threads()},
                                        {"precision", name_of(precision)}};
    if (std::filesystem::exists(file)) {
        const auto kept = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
        if (kept.is_object() && kept.value("machine", nlohmann::ordered_json()) == wanted &&
            kept.contains("peak_flops") && kept["peak_flops"].is_number()) {
            const double rate = kept["peak_flops"].get<double>();
            if (rate > 0) return rate;
        }
    }
    const double rate = kernels::best_matmul_rate(device, precision, kSeconds);
    write_file_atomic(file, nlohmann::ordered_json{{"machine", wanted}, {"peak_flops", rate}}.dump(2) + "\n");
    return rate;
}

std::size_t resident_peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace longhaul::train
