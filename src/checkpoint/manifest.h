// manifest.json: what a checkpoint directory holds. It is the mark of a complete checkpoint, and it carries a
// hash of itself in its last line, so that a damaged manifest is told from a foreign one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/state.h"

namespace longhaul::checkpoint {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::int64_t kManifestVersion = 1;
inline constexpr std::string_view kWeightKind = "weight";

// A rectangle of a global tensor, stored as one tensor of a safetensors file.
struct Slice {
    std::string file;
    std::string key;                  // the tensor's name inside that file
    std::vector<std::int64_t> start;  // first index of each axis of the global tensor
    std::vector<std::int64_t> shape;
    std::uint64_t hash = 0;  // XXH3 of its bytes
};

struct StoredTensor {
    std::string kind;  // "weight", or the optimizer's name for it: "m", "v"
    std::string name;  // global name
    std::string dtype;
    std::vector<std::int64_t> shape;  // global
    // One whole slice as yet; the slices of several ranks later.
    std::vector<Slice> slices;
};

struct StoredFile {
    std::string name;  // relative to the directory, with / between parts
    std::size_t bytes = 0;
    std::uint64_t hash = 0;  // XXH3 of all of it
};

struct Manifest {
    TrainingState state;
    SpecialTokens special_tokens;
    std::string config_toml;
    std::vector<StoredTensor> tensors;
    std::vector<StoredFile> files;

    // nullptr where there is none.
    [[nodiscard]] const StoredTensor* find(std::string_view kind, std::string_view name) const;
    [[nodiscard]] std::int64_t parameters() const;  // values of all tensors of kind "weight"
};

// The file's text; equal manifests give equal bytes.
[[nodiscard]] std::string manifest_text(const Manifest& manifest);

// Error bad_data says what is wrong; `name` stands for the file. Names of files are checked: none leads out
// of the directory.
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::string& name);

}  // namespace longhaul::checkpoint
