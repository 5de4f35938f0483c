// What one task of attention works on: a sequence and a kv head, with all query heads that share it.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace longhaul::kernels::cpu {

constexpr std::int64_t kQueryBlock = 64;
constexpr std::int64_t kKeyBlock = 64;

struct AttentionTask {
    std::int64_t queries, keys, head_dim, window;
    std::int64_t group;        // query heads of this kv head
    std::int64_t first_head;   // the first of them
    std::int64_t head_number;  // (sample * heads + first_head), for dropout
    float scale;
    // Strides between tokens, in elements.
    std::int64_t q_stride, k_stride, v_stride, o_stride;
};

template <typename T>
struct AttentionForward {
    const T* q;  // [queries, head_dim] of the group's first head; the next head starts head_dim further
    const T* k;  // [keys, head_dim]
    const T* v;
    T* o;        // like q
    float* lse;  // [group, queries]
};

template <typename T>
struct AttentionBackward {
    const T* q;
    const T* k;
    const T* v;
    const T* o;
    const float* lse;
    const T* d_o;
    T* dq;
    T* dk;
    T* dv;
    std::int64_t d_o_stride, dq_stride, dk_stride, dv_stride;
};

// A head's columns padded to whole vectors of any instruction set.
constexpr std::int64_t padded_dim(std::int64_t head_dim) {
    return (head_dim + 15) / 16 * 16;
}
constexpr std::int64_t key_blocks(std::int64_t keys) {
    return (keys + kKeyBlock - 1) / kKeyBlock;
}
// Floats of scratch of a task.
constexpr std::int64_t forward_scratch(const AttentionTask& t) {
    const std::int64_t dim = padded_dim(t.head_dim);
    return 2 * key_blocks(t.keys) * kKeyBlock * dim + 2 * kQueryBlock * dim + kQueryBlock * kKeyBlock +
           4 * kQueryBlock;
}
constexpr std::int64_t backward_scratch(const AttentionTask& t) {
    const std::int64_t dim = padded_dim(t.head_dim);
    return 5 * key_blocks(t.keys) * kKeyBlock * dim + 3 * kQueryBlock * dim + 2 * kQueryBlock * kKeyBlock +
           2 * kQueryBlock;
}

}  // namespace longhaul::kernels::cpu
