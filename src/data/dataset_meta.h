// PREFIX.meta.json: what a packed data set was made of. For people, and so that training can refuse another
// tokenizer than the one the data were packed with. Data sets without it (Megatron's own) are read just the
// same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/indexed_dataset.h"

namespace longhaul::data {

struct DatasetMeta {
    std::string tokenizer;  // as it was named on the command line
    std::uint64_t tokenizer_fingerprint = 0;
    std::int64_t vocab = 0;
    std::optional<std::int64_t> end_of_document;
    std::string role;  // "all", "train" or "validation"
    std::int64_t documents = 0;
    std::int64_t tokens = 0;
    std::int64_t text_bytes = 0;
    std::vector<std::string> sources;
};

[[nodiscard]] std::string to_json(const DatasetMeta& meta);

// Nothing if there is no such file, or if it is not this data set's (the counts differ: some other program
// replaced the pair). Error bad_data if it is there and broken.
[[nodiscard]] std::optional<DatasetMeta> read_meta(const IndexedDataset& dataset);

}  // namespace longhaul::data
