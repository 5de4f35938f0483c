// LayerNorm and RMSNorm, plain loops. T: activations; P: parameters, statistics and parameters' gradients.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

template <typename T, typename P>
void layernorm_forward(Rows<const T> x, const P* weight, const P* bias, double eps, Rows<T> y, P* mean,
                       P* rstd) {
    const auto n = static_cast<double>(x.columns);
    for (std::int64_t t = 0; t < x.rows; ++t) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) sum += load(x[t][i]);
        const double m = sum / n;
        double squares = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) squares += (load(x[t][i]) - m) * (load(x[t][i]) - m);
        const double r = 1.0 / std::sqrt(squares / n + eps);
        store(mean[t], m);
        store(rstd[t], r);
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double shift = bias != nullptr ? load(bias[i]) : 0.0;
            store(y[t][i], (load(x[t][i]) - m) * r * load(weight[i]) + shift);
        }
    }
}

// With z = (x - mean) rstd and g = dy weight: dx = rstd (g - mean(g) - z mean(g z)).
template <typename T, typename P>
void layernorm_backward(Rows<const T> dy, Rows<const T> x, const P* weight, const P* mean, const P* rstd,
                        Rows<T> dx, P* dweight, P* dbias, bool accumulate) {
    const auto n = static_cast<double>(x.columns);
    std::vector<double> weight_sums(static_cast<std::size_t>(x.columns));
    std::vector<double> bias_sums(static_cast<std::size_t>(x.columns));
    for (std::int64_t t = 0; t < x.rows; ++t) {
        const double m = load(mean[t]);
        const double r = load(rstd[t]);
        double g_sum = 0;
        double gz_sum = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double z = (load(x[t][i]) - m) * r;
            const double g = load(dy[t][i]) * load(weight[i]);
            g_sum += g;
            gz_sum += g * z;
            weight_sums[static_cast<std::size_t>(i)] += load(dy[t][i]) * z;
            bias_sums[static_cast<std::size_t>(i)] += load(dy[t][i]);
        }
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double z = (load(x[t][i]) - m) * r;
            const double g = load(dy[t][i]) * load(weight[i]);
            store(dx[t][i], r * (g - g_sum / n - z * gz_sum / n), accumulate);
        }
    }
    for (std::int64_t i = 0; i < x.columns; ++i) {
        store(dweight[i], weight_sums[static_cast<std::size_t>(i)], true);
        if (dbias != nullptr) store(dbias[i], bias_sums[static_cast<std::size_t>(i)], true);
    }
}

template <typename T, typename P>
void rmsnorm_forward(Rows<const T> x, const P* weight, double eps, Rows<T> y, P* rstd) {
    const auto n = static_cast<double>(x.columns);
    for (std::int64_t t = 0; t < x.rows; ++t) {
        double squares = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) squares += load(x[t][i]) * load(x[t][i]);
        const double r = 1.0 / std::sqrt(squares / n + eps);
        store(rstd[t], r);
        for (std::int64_t i = 0; i < x.columns; ++i) store(y[t][i], load(x[t][i]) * r * load(weight[i]));
    }
}

// With z = x rstd and g = dy weight: dx = rstd (g - z mean(g z)).
template <typename T, typename P>
void rmsnorm_backward(Rows<const T> dy, Rows<const T> x, const P* weight, const P* rstd, Rows<T> dx,
                      P* dweight, bool accumulate) {
    const auto n = static_cast<double>(x.columns);
    std::vector<double> weight_sums(static_cast<std::size_t>(x.columns));
    for (std::int64_t t = 0; t < x.rows; ++t) {
        const double r = load(rstd[t]);
        double gz_sum = 0;
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double z = load(x[t][i]) * r;
            gz_sum += load(dy[t][i]) * load(weight[i]) * z;
            weight_sums[static_cast<std::size_t>(i)] += load(dy[t][i]) * z;
        }
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double z = load(x[t][i]) * r;
            store(dx[t][i], r * (load(dy[t][i]) * load(weight[i]) - z * gz_sum / n), accumulate);
        }
    }
    for (std::int64_t i = 0; i < x.columns; ++i)
        store(dweight[i], weight_sums[static_cast<std::size_t>(i)], true);
}

}  // namespace longhaul::kernels::reference
