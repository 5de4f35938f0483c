// Models in Hugging Face form (config.json and safetensors): import and export of gpt2, llama, mistral,
// qwen2, phi.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "model/layout.h"
#include "spec/model.h"
#include "tensor/dtype.h"

namespace longhaul::checkpoint {

// Whether a folder looks like a model in this form: a config.json with a model_type.
[[nodiscard]] bool is_hugging_face(const std::filesystem::path& directory);

struct HuggingFaceConfig {
    spec::Model model;
    SpecialTokens special_tokens;
};
// Reads config.json. Error bad_data lists everything in it that this program can't compute, with the reason.
[[nodiscard]] HuggingFaceConfig read_hf_config(const std::filesystem::path& directory);

// Reads model.safetensors or the shards of model.safetensors.index.json into a flat range of layout.size
// values (padding is left as it is). Error bad_data lists every unknown, missing or misshapen tensor.
void read_hf_weights(const std::filesystem::path& directory, const spec::Model& model,
                     const model::Layout& layout, std::span<float> flat);

// Files of the folder that belong to its tokenizer.
[[nodiscard]] std::vector<std::filesystem::path> hf_tokenizer_files(const std::filesystem::path& directory);

// The family's name of a global tensor: layers.0.attention.q.weight ->
// model.layers.0.self_attn.q_proj.weight.
[[nodiscard]] std::string hf_name(const spec::Model& model, const std::string& global_name);

// Why the family's form can't say the model, one sentence each; empty: it can.
[[nodiscard]] std::vector<std::string> hf_faults(const spec::Model& model);

struct ExportOptions {
    DType dtype = DType::f32;  // f32, bf16 or f16
    std::int64_t max_shard_bytes =
        5'000'000'000;  // of one file's tensors; a larger tensor has a file of its own
    SpecialTokens special_tokens;
    std::vector<std::filesystem::path> tokenizer_files;
    bool replace = false;  // an existing non-empty directory, if it holds an exported model
};
// Fills `out` with the values of a global tensor.
using ReadTensor = std::function<void(const model::GlobalTensor& tensor, std::span<float> out)>;
// Writes the folder whole or not at all. Error bad_config where hf_faults() is not empty or the directory is
// in use.
void export_hf(const std::filesystem::path& directory, const spec::Model& model, const ReadTensor& read,
               const ExportOptions& options = {});

}  // namespace longhaul::checkpoint
