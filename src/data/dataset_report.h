// What a packed data set holds, for `data inspect`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/dataset_meta.h"
#include "data/indexed_dataset.h"

namespace longhaul::data {

struct DatasetReport {
    std::string prefix;
    std::string type;  // of the tokens
    std::int64_t documents = 0;
    std::int64_t sequences = 0;
    std::int64_t tokens = 0;
    std::uint64_t bytes = 0;    // of both files
    std::int64_t shortest = 0;  // tokens of a document
    std::int64_t longest = 0;
    double mean = 0;
    std::int32_t smallest_id = 0;
    std::int32_t largest_id = 0;
    std::int64_t distinct_ids = 0;
    std::uint64_t fingerprint = 0;
    std::optional<DatasetMeta> meta;
};

// Reads all tokens once.
[[nodiscard]] DatasetReport report(const IndexedDataset& dataset);

}  // namespace longhaul::data
