// Lengths from the index, ids from the tokens.
#include "data/dataset_report.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace longhaul::data {

namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 20;

void count_documents(const DatasetIndex& index, DatasetReport& out) {
    out.shortest = index.documents() > 0 ? std::numeric_limits<std::int64_t>::max() : 0;
    for (std::int64_t d = 0; d < index.documents(); ++d) {
        const std::int64_t tokens =
            index.first_token(index.document_begin(d + 1)) - index.first_token(index.document_begin(d));
        out.shortest = std::min(out.shortest, tokens);
        out.longest = std::max(out.longest, tokens);
    }
    if (index.documents() > 0)
        out.mean = static_cast<double>(index.tokens()) / static_cast<double>(index.documents());
}

void count_ids(const IndexedDataset& dataset, DatasetReport& out) {
    // Vocabularies are dense: ids below the limit are marked in a table, whatever is odd in a set.
    constexpr std::int32_t kDense = 1 << 20;
    std::vector<bool> seen(kDense, false);
    std::unordered_set<std::int32_t> others;
    out.smallest_id = std::numeric_limits<std::int32_t>::max();
    out.largest_id = std::numeric_limits<std::int32_t>::min();
    std::vector<std::int32_t> block;
    for (std::int64_t first = 0; first < out.tokens; first += kBlock) {
        block.resize(static_cast<std::size_t>(std::min(kBlock, out.tokens - first)));
        dataset.read(first, block);
        for (const std::int32_t id : block) {
            out.smallest_id = std::min(out.smallest_id, id);
            out.largest_id = std::max(out.largest_id, id);
            if (id >= 0 && id < kDense) {
                seen[static_cast<std::size_t>(id)] = true;
            } else {
                others.insert(id);
            }
        }
    }
    if (out.tokens == 0) out.smallest_id = out.largest_id = 0;
    out.distinct_ids = std::count(seen.begin(), seen.end(), true) + std::ssize(others);
}

}  // namespace

DatasetReport report(const IndexedDataset& dataset) {
    const DatasetIndex& index = dataset.index();
    DatasetReport out;
    out.prefix = dataset.prefix();
    out.type = token_type_name(index.type());
    out.documents = index.documents();
    out.sequences = index.sequences();
    out.tokens = index.tokens();
    for (const char* ending : {".bin", ".idx"}) {
        std::error_code error;
        const auto size = std::filesystem::file_size(dataset.prefix() + ending, error);
        if (!error) out.bytes += size;
    }
    count_documents(index, out);
    count_ids(dataset, out);
    out.fingerprint = dataset.fingerprint();
    out.meta = read_meta(dataset);
    return out;
}

}  // namespace longhaul::data
