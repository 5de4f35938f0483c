// Embedding and cross-entropy, plain loops. T: activations; P: losses and parameters' gradients.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

template <typename T>
void embedding_forward(const std::int32_t* ids, Rows<const T> table, Rows<const T> positions,
                       std::int64_t sequence, std::int64_t first_position, Rows<T> y) {
    for (std::int64_t t = 0; t < y.rows; ++t) {
        const T* row = table[std::max(ids[t], 0)];
        for (std::int64_t i = 0; i < y.columns; ++i) {
            store(y[t][i],
                  load(row[i]) + (positions ? load(positions[first_position + t % sequence][i]) : 0.0));
        }
    }
}

template <typename T, typename P>
void embedding_backward(const std::int32_t* ids, Rows<const T> dy, std::int64_t sequence, Rows<P> dtable,
                        Rows<P> dpositions) {
    for (std::int64_t t = 0; t < dy.rows; ++t) {
        if (ids[t] < 0) continue;
        for (std::int64_t i = 0; i < dy.columns; ++i) {
            store(dtable[ids[t]][i], load(dy[t][i]), true);
            if (dpositions) store(dpositions[t % sequence][i], load(dy[t][i]), true);
        }
    }
}

template <typename P, typename T>
void cross_entropy(Rows<const P> logits, const std::int32_t* targets, double scale, P* losses,
                   Rows<T> dlogits) {
    for (std::int64_t t = 0; t < logits.rows; ++t) {
        const P* row = logits[t];
        if (targets[t] < 0) {
            losses[t] = 0;
            for (std::int64_t i = 0; dlogits && i < logits.columns; ++i) store(dlogits[t][i], 0.0);
            continue;
        }
        const double largest = load(*std::max_element(row, row + logits.columns));
        double total = 0;
        for (std::int64_t i = 0; i < logits.columns; ++i) total += std::exp(load(row[i]) - largest);
        store(losses[t], largest + std::log(total) - load(row[targets[t]]));
        for (std::int64_t i = 0; dlogits && i < logits.columns; ++i) {
            const double p = std::exp(load(row[i]) - largest) / total;
            store(dlogits[t][i], (p - (i == targets[t] ? 1.0 : 0.0)) * scale);
        }
    }
}

}  // namespace longhaul::kernels::reference
