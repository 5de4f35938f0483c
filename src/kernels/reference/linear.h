// Linear layers, plain loops. T: activations and weights; P: parameters' gradients and biases; Y: the output.
#pragma once

#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

template <typename T, typename P, typename Y>
void linear_forward(Rows<const T> x, Rows<const T> weight, const P* bias, Rows<Y> y) {
    for (std::int64_t t = 0; t < x.rows; ++t) {
        for (std::int64_t o = 0; o < weight.rows; ++o) {
            double sum = bias != nullptr ? load(bias[o]) : 0.0;
            for (std::int64_t i = 0; i < x.columns; ++i) sum += load(x[t][i]) * load(weight[o][i]);
            store(y[t][o], sum);
        }
    }
}

template <typename T>
void linear_input_grad(Rows<const T> dy, Rows<const T> weight, Rows<T> dx, bool accumulate) {
    for (std::int64_t t = 0; t < dy.rows; ++t) {
        for (std::int64_t i = 0; i < weight.columns; ++i) {
            double sum = 0;
            for (std::int64_t o = 0; o < weight.rows; ++o) sum += load(dy[t][o]) * load(weight[o][i]);
            store(dx[t][i], sum, accumulate);
        }
    }
}

template <typename T, typename P>
void linear_weight_grad(Rows<const T> dy, Rows<const T> x, Rows<P> dweight, P* dbias) {
    for (std::int64_t o = 0; o < dy.columns; ++o) {
        for (std::int64_t i = 0; i < x.columns; ++i) {
            double sum = 0;
            for (std::int64_t t = 0; t < dy.rows; ++t) sum += load(dy[t][o]) * load(x[t][i]);
            store(dweight[o][i], sum, true);
        }
        if (dbias == nullptr) continue;
        double sum = 0;
        for (std::int64_t t = 0; t < dy.rows; ++t) sum += load(dy[t][o]);
        store(dbias[o], sum, true);
    }
}

}  // namespace longhaul::kernels::reference
