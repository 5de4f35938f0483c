// Writers and readers of run files.
#include "cli/run_files.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/process.h"

namespace longhaul::cli {

namespace fs = std::filesystem;

void write_batches(const fs::path& path, std::int64_t steps, std::int64_t sequences, std::int64_t seq,
                   std::int64_t vocab, unsigned seed) {
    std::string header = fmt::format("{{'descr': '<i4', 'fortran_order': False, 'shape': ({}, {}, {}), }}",
                                     steps, sequences, seq + 1);
    header.append(64 - (10 + header.size() + 1) % 64, ' ');
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    file << "\x93NUMPY" << '\x01' << '\0';
    const auto size = static_cast<std::uint16_t>(header.size());
    file.write(reinterpret_cast<const char*>(&size), 2);
    file << header;
    std::mt19937 random(seed);
    for (std::int64_t i = 0; i < steps * sequences * (seq + 1); ++i) {
        const auto token = static_cast<std::int32_t>(random() % static_cast<unsigned>(vocab));
        file.write(reinterpret_cast<const char*>(&token), 4);
    }
}

std::string tiny_config(const fs::path& batches, std::int64_t steps) {
    return fmt::format(R"([model]
preset = "gpt2-tiny"
seq = 16

[parallel]
micro_batch = 2

[train]
steps = {}
global_batch = 4
precision = "bf16"

[optimizer]
lr = 1e-3
schedule = "constant"

[data]
train = "{}"

[checkpoint]
keep = 0
)",
                       steps, batches.string());
}

std::map<std::int64_t, double> losses(const fs::path& run_dir) {
    std::map<std::int64_t, double> result;
    std::ifstream file(run_dir / "metrics.jsonl");
    std::string line;
    while (std::getline(file, line)) {
        const auto parsed = nlohmann::json::parse(line);
        const std::int64_t step = parsed.at("step");
        if (result.contains(step))
            throw std::runtime_error(fmt::format("step {} stands twice in metrics.jsonl", step));
        result[step] = parsed.at("loss");
    }
    return result;
}

std::map<std::string, std::string> tensor_files(const fs::path& checkpoint) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(checkpoint)) {
        if (entry.path().extension() == ".safetensors")
            files[entry.path().filename().string()] = read_text(entry.path());
    }
    return files;
}

fs::path step_folder(const fs::path& run_dir, std::int64_t step) {
    return run_dir / "checkpoints" / fmt::format("step-{:08}", step);
}

std::vector<std::string> event_kinds(const fs::path& run_dir) {
    std::vector<std::string> kinds;
    std::ifstream file(run_dir / "events.jsonl");
    std::string line;
    while (std::getline(file, line)) kinds.push_back(nlohmann::json::parse(line).at("event"));
    return kinds;
}

}  // namespace longhaul::cli
