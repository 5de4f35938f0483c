// The Hugging Face form of the five families, as import and export share it. Not for other rooms.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/state.h"
#include "spec/model.h"
#include "tensor/dtype.h"

namespace longhaul::checkpoint {

inline constexpr std::string_view kHfWeights = "model.safetensors";
inline constexpr std::string_view kHfIndex = "model.safetensors.index.json";

// gpt2 stores the weights of its linears as [in, out].
[[nodiscard]] bool hf_transposed(const spec::Model& model, std::string_view global_name);

// "transformer." or "model.": left out where only the base model was saved.
[[nodiscard]] std::string_view hf_prefix(const spec::Model& model);

// The text of config.json.
[[nodiscard]] std::string hf_config_text(const spec::Model& model, const SpecialTokens& special_tokens,
                                         DType dtype);

// Ids that the tokenizer's files tell; nothing where they don't.
[[nodiscard]] SpecialTokens hf_special_tokens(const std::vector<std::filesystem::path>& tokenizer_files);
// The text of a special token; empty where the files don't tell.
[[nodiscard]] std::string hf_token_text(const std::vector<std::filesystem::path>& tokenizer_files,
                                        std::int64_t wanted);

}  // namespace longhaul::checkpoint
