// A sentencepiece *.model as a Tokenizer.
#pragma once

#include <memory>

#include "data/tokenizer.h"

namespace longhaul::data {

// Control symbols (<s>, </s>) that stand in a text are recognised, as special tokens of a tokenizer.json are.
// `model` is the file's content. Error bad_data where it is none.
[[nodiscard]] std::unique_ptr<Tokenizer> make_sentencepiece(std::string_view model,
                                                            std::vector<std::filesystem::path> files);

}  // namespace longhaul::data
