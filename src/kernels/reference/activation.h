// GELU in its tanh form, and SwiGLU, plain loops. T: activations; P: biases and their gradients.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

inline constexpr double kGeluCubic = 0.044715;

inline double gelu(double z) {
    const double scale = std::sqrt(2.0 / std::numbers::pi);
    return 0.5 * z * (1.0 + std::tanh(scale * (z + kGeluCubic * z * z * z)));
}

inline double gelu_derivative(double z) {
    const double scale = std::sqrt(2.0 / std::numbers::pi);
    const double t = std::tanh(scale * (z + kGeluCubic * z * z * z));
    return 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * scale * (1.0 + 3.0 * kGeluCubic * z * z);
}

template <typename T, typename P>
void bias_gelu_forward(Rows<const T> x, const P* bias, Rows<T> y) {
    for (std::int64_t t = 0; t < x.rows; ++t) {
        for (std::int64_t i = 0; i < x.columns; ++i) {
            store(y[t][i], gelu(load(x[t][i]) + (bias != nullptr ? load(bias[i]) : 0.0)));
        }
    }
}

template <typename T, typename P>
void bias_gelu_backward(Rows<const T> dy, Rows<const T> x, const P* bias, Rows<T> dx, P* dbias) {
    std::vector<double> sums(static_cast<std::size_t>(x.columns));
    for (std::int64_t t = 0; t < x.rows; ++t) {
        for (std::int64_t i = 0; i < x.columns; ++i) {
            const double z = load(x[t][i]) + (bias != nullptr ? load(bias[i]) : 0.0);
            const double d = load(dy[t][i]) * gelu_derivative(z);
            store(dx[t][i], d);
            sums[static_cast<std::size_t>(i)] += d;
        }
    }
    if (dbias == nullptr) return;
    for (std::int64_t i = 0; i < x.columns; ++i) store(dbias[i], sums[static_cast<std::size_t>(i)], true);
}

template <typename T>
void swiglu_forward(Rows<const T> gate_up, Rows<T> y) {
    const std::int64_t width = y.columns;
    for (std::int64_t t = 0; t < y.rows; ++t) {
        for (std::int64_t i = 0; i < width; ++i) {
            const double g = load(gate_up[t][i]);
            store(y[t][i], g / (1.0 + std::exp(-g)) * load(gate_up[t][width + i]));
        }
    }
}

template <typename T>
void swiglu_backward(Rows<const T> dy, Rows<const T> gate_up, Rows<T> d_gate_up) {
    const std::int64_t width = dy.columns;
    for (std::int64_t t = 0; t < dy.rows; ++t) {
        for (std::int64_t i = 0; i < width; ++i) {
            const double g = load(gate_up[t][i]);
            const double u = load(gate_up[t][width + i]);
            const double d = load(dy[t][i]);
            const double sigmoid = 1.0 / (1.0 + std::exp(-g));
            store(d_gate_up[t][i], d * u * sigmoid * (1.0 + g * (1.0 - sigmoid)));
            store(d_gate_up[t][width + i], d * g * sigmoid);
        }
    }
}

}  // namespace longhaul::kernels::reference
