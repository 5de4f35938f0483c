// Causal and windowed attention, plain loops over one query at a time. T: activations; P: log-sum-exp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/positional.h"

namespace longhaul::kernels::reference {

// The keys [first, last) that query i sees.
struct KeyRange {
    std::int64_t first;
    std::int64_t last;
};

inline KeyRange visible_keys(const AttentionShape& shape, std::int64_t query) {
    const std::int64_t position = shape.keys - shape.queries + query;
    return {shape.window == 0 ? 0 : std::max<std::int64_t>(0, position - shape.window + 1), position + 1};
}

inline double attention_dropout(const AttentionShape& shape, const Dropout& mask, std::int64_t sample,
                                std::int64_t head, std::int64_t query, std::int64_t key) {
    const std::int64_t row = ((mask.first_sample + sample) * shape.heads + head) * shape.queries + query;
    return dropout_factor(mask, static_cast<std::uint64_t>(row * shape.keys + key));
}

template <typename T>
double dot(const T* a, const T* b, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += load(a[i]) * load(b[i]);
    return sum;
}

// body(sample, head, query, first column of the head in q, first column in k) over all queries.
template <typename Body>
void each_query(const AttentionShape& shape, Body&& body) {
    const std::int64_t group = shape.heads / shape.kv_heads;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
        for (std::int64_t h = 0; h < shape.heads; ++h) {
            for (std::int64_t i = 0; i < shape.queries; ++i)
                body(b, h, i, h * shape.head_dim, h / group * shape.head_dim);
        }
    }
}

template <typename T, typename P>
void attention_forward(const AttentionShape& shape, Rows<const T> q, Rows<const T> k, Rows<const T> v,
                       const Dropout& mask, Rows<T> o, P* lse) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
    std::vector<double> scores(static_cast<std::size_t>(shape.keys));
    std::vector<double> sums(static_cast<std::size_t>(shape.head_dim));
    each_query(shape, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t qc, std::int64_t kc) {
        const KeyRange range = visible_keys(shape, i);
        double largest = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = range.first; j < range.last; ++j) {
            double& score = scores[static_cast<std::size_t>(j)];
            score = scale * dot(q[b * shape.queries + i] + qc, k[b * shape.keys + j] + kc, shape.head_dim);
            largest = std::max(largest, score);
        }
        double total = 0;
        for (std::int64_t j = range.first; j < range.last; ++j)
            total += std::exp(scores[static_cast<std::size_t>(j)] - largest);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t j = range.first; j < range.last; ++j) {
            const double p = std::exp(scores[static_cast<std::size_t>(j)] - largest) / total *
                             attention_dropout(shape, mask, b, h, i, j);
            const T* row = v[b * shape.keys + j] + kc;
            for (std::int64_t d = 0; d < shape.head_dim; ++d)
                sums[static_cast<std::size_t>(d)] += p * load(row[d]);
        }
        for (std::int64_t d = 0; d < shape.head_dim; ++d) {
            store(o[b * shape.queries + i][qc + d], sums[static_cast<std::size_t>(d)]);
        }
        store(lse[(b * shape.heads + h) * shape.queries + i], largest + std::log(total));
    });
}

// With p the probabilities, m the dropout factors and D = do . o: dv_j = sum p m do; ds = p (m do . v_j - D);
// dq = scale sum ds k_j; dk_j = scale sum ds q.
template <typename T, typename P>
void attention_backward(const AttentionShape& shape, Rows<const T> q, Rows<const T> k, Rows<const T> v,
                        Rows<const T> o, const P* lse, Rows<const T> d_o, const Dropout& mask, Rows<T> dq,
                        Rows<T> dk, Rows<T> dv) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
    const std::int64_t width = shape.kv_heads * shape.head_dim;
    const auto size = static_cast<std::size_t>(shape.batch * shape.keys * width);
    std::vector<double> dk_sums(size);
    std::vector<double> dv_sums(size);
    std::vector<double> dq_sums(static_cast<std::size_t>(shape.head_dim));
    each_query(shape, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t qc, std::int64_t kc) {
        const std::int64_t row = b * shape.queries + i;
        const T* query = q[row] + qc;
        const T* gradient = d_o[row] + qc;
        const double offset = load(lse[(b * shape.heads + h) * shape.queries + i]);
        const double inner = dot(gradient, o[row] + qc, shape.head_dim);
        std::fill(dq_sums.begin(), dq_sums.end(), 0.0);
        const KeyRange range = visible_keys(shape, i);
        for (std::int64_t j = range.first; j < range.last; ++j) {
            const T* key = k[b * shape.keys + j] + kc;
            const double p = std::exp(scale * dot(query, key, shape.head_dim) - offset);
            const double m = attention_dropout(shape, mask, b, h, i, j);
            const double ds =
                p * (m * dot(gradient, v[b * shape.keys + j] + kc, shape.head_dim) - inner) * scale;
            double* dk_row = dk_sums.data() + (b * shape.keys + j) * width + kc;
            double* dv_row = dv_sums.data() + (b * shape.keys + j) * width + kc;
            for (std::int64_t d = 0; d < shape.head_dim; ++d) {
                dq_sums[static_cast<std::size_t>(d)] += ds * load(key[d]);
                dk_row[d] += ds * load(query[d]);
                dv_row[d] += p * m * load(gradient[d]);
            }
        }
        for (std::int64_t d = 0; d < shape.head_dim; ++d)
            store(dq[row][qc + d], dq_sums[static_cast<std::size_t>(d)]);
    });
    for (std::int64_t r = 0; r < shape.batch * shape.keys; ++r) {
        for (std::int64_t c = 0; c < width; ++c) {
            store(dk[r][c], dk_sums[static_cast<std::size_t>(r * width + c)]);
            store(dv[r][c], dv_sums[static_cast<std::size_t>(r * width + c)]);
        }
    }
}

}  // namespace longhaul::kernels::reference
