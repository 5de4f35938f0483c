// Saving: a checkpoint directory appears complete, verified and durable, or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/durable.h"
#include "checkpoint/state.h"
#include "model/layout.h"
#include "tensor/shape.h"

namespace longhaul::checkpoint {

struct SavedTensor {
    std::string name;  // global name
    Shape shape;
    std::span<const float> values;  // dense; read during save() only
};

struct SaveRequest {
    TrainingState state;
    SpecialTokens special_tokens;
    std::string config_toml;  // spec::to_toml of the run; holds the model
    std::vector<SavedTensor> weights;
    // {"m", ...}, {"v", ...}; empty for weights alone.
    std::vector<std::pair<std::string, std::vector<SavedTensor>>> optimizer;
    std::vector<std::filesystem::path> tokenizer_files;  // copied to tokenizer/ under their names
};

struct SaveOptions {
    std::size_t file_bytes = std::size_t{2} << 30U;  // a file takes tensors up to this size, at least one
    WriteOptions write;
};

// The tensors of a layout as views of a flat range of layout.size values.
[[nodiscard]] std::vector<SavedTensor> saved_tensors(const model::Layout& layout,
                                                     std::span<const float> flat);

// "step-00000100"
[[nodiscard]] std::string step_name(std::int64_t step);

// Writes checkpoints/step-NNNNNNNN and then points `checkpoints/latest` at it; returns its path. Files are
// written to a hidden directory, fsynced, read back and compared by hash, then renamed. A step that was saved
// before is replaced. On an Error (a full disk, say) the temporary is removed and earlier checkpoints are as
// they were.
std::filesystem::path save(const std::filesystem::path& checkpoints, const SaveRequest& request,
                           const SaveOptions& options = {});

// The same under a name of the caller's choice, without `latest`.
void save_as(const std::filesystem::path& directory, const SaveRequest& request,
             const SaveOptions& options = {});

// Removes all but the `keep` newest complete checkpoints (keep = 0: none is removed) and temporaries that
// ended processes of ours left. Damaged checkpoints count for nothing and are left for the user to judge.
// Nothing is removed before the newest kept one has been verified by hash, unless it is `just_saved`, which
// save() verified.
void keep_newest(const std::filesystem::path& folder, std::int64_t keep,
                 const std::filesystem::path& just_saved = {});

}  // namespace longhaul::checkpoint
