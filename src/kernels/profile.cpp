// Sums of calls, and costs of products and attention.
#include "kernels/profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul::kernels {

void Profile::add(std::string_view op, DType dtype, const OpCost& cost, double seconds) {
    const auto same = [&](const OpRecord& r) {
        return r.op == op && r.extents == cost.extents && r.dtype == dtype;
    };
    auto record = std::find_if(records_.begin(), records_.end(), same);
    if (record == records_.end()) {
        OpRecord& fresh = records_.emplace_back();
        fresh.op = op;
        fresh.extents = cost.extents;
        fresh.dtype = dtype;
        fresh.product = cost.product;
        record = records_.end() - 1;
    }
    ++record->calls;
    record->seconds += seconds;
    record->flops += cost.flops;
    record->bytes += cost.bytes;
}

OpCost product_cost(std::int64_t m, std::int64_t n, std::int64_t k, DType operands, DType result,
                    bool accumulates) {
    const auto rows = static_cast<double>(m);
    const auto columns = static_cast<double>(n);
    const auto depth = static_cast<double>(k);
    return {.flops = 2.0 * rows * columns * depth,
            .bytes = (rows + columns) * depth * static_cast<double>(size_of(operands)) +
                     rows * columns * static_cast<double>(size_of(result)) * (accumulates ? 2.0 : 1.0),
            .product = true,
            .extents = fmt::format("{} x {} x {}", m, n, k)};
}

OpCost traffic(double bytes) {
    OpCost cost;
    cost.bytes = bytes;
    return cost;
}

double visible_pairs(const AttentionShape& s) {
    double pairs = 0;
    for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t earlier = s.keys - s.queries + i + 1;
        pairs += static_cast<double>(s.window > 0 ? std::min(s.window, earlier) : earlier);
    }
    return pairs * static_cast<double>(s.batch * s.heads);
}

OpCost attention_cost(const AttentionShape& s, DType dtype, bool backward) {
    const auto dim = static_cast<double>(s.head_dim);
    const double q = static_cast<double>(s.batch * s.queries * s.heads) * dim;
    const double kv = static_cast<double>(s.batch * s.keys * s.kv_heads) * dim;
    // Forward reads q, k, v and writes o; backward reads them, o and its gradient, and writes three
    // gradients.
    const double elements = backward ? 4 * q + 4 * kv : 2 * q + 2 * kv;
    return {.flops = (backward ? 5.0 : 2.0) * 2.0 * dim * visible_pairs(s),
            .bytes = elements * static_cast<double>(size_of(dtype)),
            .product = true,
            .extents = s.window > 0 ? fmt::format("{} x {}, window {}", s.batch, s.queries, s.window)
                                    : fmt::format("{} x {}", s.batch, s.queries)};
}

}  // namespace longhaul::kernels
