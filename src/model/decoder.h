// Inference of one sequence with a cache of keys and values: feed tokens, get the logits of the next one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/block.h"
#include "model/head.h"

namespace longhaul::model {

class Decoder {
public:
    // Holds up to `capacity` positions (at most model.seq with learned positions). All references must
    // outlive the decoder.
    Decoder(const kernels::Device& device, const spec::Model& model, const Parameters& parameters,
            std::int64_t capacity, MemoryLedger* ledger);

    // Appends tokens and returns the logits [vocab] after the last of them, valid until the next call. Error
    // internal where they would pass the capacity.
    std::span<const float> feed(std::span<const std::int32_t> tokens);
    void reset() { position_ = 0; }
    [[nodiscard]] std::int64_t position() const { return position_; }
    [[nodiscard]] std::int64_t capacity() const { return capacity_; }

private:
    struct Tensors {
        TensorView stream, next, normed, qkv, mix, lse, branch, up, act;  // [chunk, ...]
        NormStatistics statistics;
        TensorView keys, values;  // [layers x capacity, kv_heads x head_dim]
        TensorView logits;        // fp32 [1, vocab]
        Head head;
    };
    static Tensors lay_out(Arena& arena, const spec::Model& model, const Layout& layout, DType compute,
                           std::int64_t capacity);
    void feed_chunk(std::span<const std::int32_t> tokens);
    void block(const Environment& env, std::int64_t index, std::int64_t rows, TensorView x,
               TensorView y) const;

    const kernels::Device& device_;
    const spec::Model& model_;
    const Parameters& parameters_;
    std::int64_t capacity_;
    std::int64_t position_ = 0;
    Arena arena_;
    Buffer rope_;
    Tensors t_;
    std::vector<std::int32_t> ids_;
};

}  // namespace longhaul::model
