// Small runs for tests of the train command: data, configuration, and readers of what a run leaves.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace longhaul::cli {

// int32 [steps, sequences, seq + 1] of tokens below vocab, the same for the same seed.
void write_batches(const std::filesystem::path& path, std::int64_t steps, std::int64_t sequences,
                   std::int64_t seq, std::int64_t vocab, unsigned seed);

// A configuration that trains gpt2-tiny on such batches of 4 sequences of 16 tokens with a constant learning
// rate.
[[nodiscard]] std::string tiny_config(const std::filesystem::path& batches, std::int64_t steps);

// Losses by step from RUN/metrics.jsonl.
[[nodiscard]] std::map<std::int64_t, double> losses(const std::filesystem::path& run_dir);

// Bytes of the weight and optimizer files of a checkpoint, by name.
[[nodiscard]] std::map<std::string, std::string> tensor_files(const std::filesystem::path& checkpoint);

[[nodiscard]] std::filesystem::path step_folder(const std::filesystem::path& run_dir, std::int64_t step);

// The event kinds of RUN/events.jsonl in order.
[[nodiscard]] std::vector<std::string> event_kinds(const std::filesystem::path& run_dir);

}  // namespace longhaul::cli
