// The threads of `data pack`: one reader, tokenizing workers, and the caller, who takes the batches back in
// order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "data/pack.h"

namespace longhaul::data {

// A piece of a document as tokens; or what was wrong with it.
struct EncodedPiece {
    std::vector<TokenId> tokens;
    std::int64_t text_bytes = 0;
    bool ends_document = true;
    std::string error;  // with file and line; empty: none
};

struct EncodedBatch {
    std::vector<EncodedPiece> pieces;
    std::exception_ptr failure;  // of the tokenizer
};

class PackPipeline {
public:
    PackPipeline(const Tokenizer& tokenizer, const PackOptions& options);
    // Stops at once. A reader that waits for input (a silent pipe) is left to itself, so that nobody waits
    // for it.
    ~PackPipeline();
    PackPipeline(const PackPipeline&) = delete;
    PackPipeline& operator=(const PackPipeline&) = delete;

    enum class State { batch, waiting, end };
    // The next batch in order; `waiting` after a tenth of a second without it. Rethrows the reader's error
    // once all batches before it were taken.
    [[nodiscard]] State next(EncodedBatch& batch);
    [[nodiscard]] std::uint64_t input_bytes() const;

private:
    struct Shared;
    static void read_all_inputs(const std::shared_ptr<Shared>& shared);
    static void work(const std::shared_ptr<Shared>& shared, const Tokenizer& tokenizer,
                     const std::string& json_key);

    std::shared_ptr<Shared> shared_;
    std::thread reader_;
    std::vector<std::thread> workers_;
};

}  // namespace longhaul::data
