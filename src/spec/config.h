// Configuration files: TOML -> Run with all faults of the file at once, and Run -> TOML with every default
// spelled out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "spec/run.h"

namespace longhaul::spec {

// Reads, applies `section.key=value` overrides, validates. Error bad_config lists every fault with its line.
[[nodiscard]] Run load_config(const std::filesystem::path& path, std::span<const std::string> overrides);
// The same from text; `name` stands for the file in messages.
[[nodiscard]] Run parse_config(std::string_view text, const std::string& name,
                               std::span<const std::string> overrides);

// The resolved configuration; parse_config reads it back to an equal Run.
[[nodiscard]] std::string to_toml(const Run& run);

// The family whose Hugging Face form can say the model, or the nearest.
[[nodiscard]] Family infer_family(const Model& model);

}  // namespace longhaul::spec
