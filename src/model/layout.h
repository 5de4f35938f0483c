// Where every parameter lies: global tensors by name and shape, packed into one flat range so that masters,
// gradients and optimizer state share offsets. Matrices that are multiplied by the same input stand row after
// row (query, key, value; gate, up), so that one product serves them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/model.h"
#include "tensor/shape.h"

namespace longhaul::model {

// How a tensor starts: normal with this spread, or a constant.
struct Initial {
    double std = 0.0;
    float constant = 0.0F;
};

// A tensor as users see it: in checkpoints, norms, LAMB's trust ratio. Weights of linears are [out, in].
struct GlobalTensor {
    std::string name;  // "layers.3.attention.q.weight"
    Shape shape;
    std::int64_t offset = 0;  // first element in the flat range; the elements are contiguous
    Initial initial;
    [[nodiscard]] std::int64_t count() const { return shape.count(); }
    // Weight decay applies to tensors with two or more dimensions.
    [[nodiscard]] bool decays() const { return shape.rank() >= 2; }
};

// What a layer multiplies with: one matrix, or a vector of rows = 1. rows = 0: not present.
struct Slot {
    std::int64_t offset = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    [[nodiscard]] bool present() const { return rows > 0; }
};

struct BlockSlots {
    Slot attention_norm_weight, attention_norm_bias;  // the one norm of a parallel block
    Slot qkv_weight, qkv_bias;                        // [(heads + 2 kv_heads) x head_dim, hidden]
    Slot output_weight, output_bias;                  // [hidden, heads x head_dim]
    Slot mlp_norm_weight, mlp_norm_bias;              // not in a parallel block
    Slot up_weight, up_bias;      // gelu: [ffn, hidden]; swiglu: gate above up, [2 ffn, hidden]
    Slot down_weight, down_bias;  // [hidden, ffn]
};

struct Layout {
    std::vector<GlobalTensor> tensors;  // in order of offset
    std::vector<BlockSlots> blocks;
    Slot tokens, positions;
    Slot final_norm_weight, final_norm_bias;
    Slot head_weight, head_bias;  // head_weight is `tokens` where embeddings are tied
    std::int64_t size = 0;        // elements of the flat range, padding between slots included
    std::int64_t parameters = 0;  // elements of all tensors

    // nullptr where there is no such tensor.
    [[nodiscard]] const GlobalTensor* find(std::string_view name) const;
};

// Names: embedding.tokens.weight, embedding.positions.weight;
// layers.I.attention.{norm,q,k,v,output}.{weight,bias} with qkv instead of q, k, v where the family stores
// them as one (gpt2); layers.I.mlp.{norm,gate,up,down}.{weight,bias}; final_norm.{weight,bias};
// head.{weight,bias}.
[[nodiscard]] Layout make_layout(const spec::Model& model);

}  // namespace longhaul::model
