// Updates of one flat tensor, plain loops. P: weights, gradients, moments.
#pragma once

#include <cmath>

#include "kernels/kernels.h"
#include "kernels/reference/rows.h"

namespace longhaul::kernels::reference {

// Moves the moments of one element and returns the direction m^ / (sqrt(v^) + eps) + decay w.
template <typename P>
double adam_direction(const AdamStep& step, P weight, P grad, P& m, P& v) {
    const double g = load(grad) * step.grad_scale;
    store(m, step.beta1 * load(m) + (1.0 - step.beta1) * g);
    store(v, step.beta2 * load(v) + (1.0 - step.beta2) * g * g);
    const double denominator = std::sqrt(load(v) / step.correction2) + step.eps;
    return load(m) / step.correction1 / denominator + step.decay * load(weight);
}

template <typename P>
void adamw_update(const AdamStep& step, std::span<P> weight, std::span<const P> grad, std::span<P> m,
                  std::span<P> v, std::span<bf16> copy) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
        store(weight[i], load(weight[i]) - step.lr * adam_direction(step, weight[i], grad[i], m[i], v[i]));
        if (!copy.empty()) store(copy[i], load(weight[i]));
    }
}

template <typename P>
LambNorms lamb_direction(const AdamStep& step, std::span<const P> weight, std::span<P> grad, std::span<P> m,
                         std::span<P> v) {
    LambNorms norms;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        store(grad[i], adam_direction(step, weight[i], grad[i], m[i], v[i]));
        norms.weight_squares += load(weight[i]) * load(weight[i]);
        norms.update_squares += load(grad[i]) * load(grad[i]);
    }
    return norms;
}

template <typename P>
void lamb_apply(double rate, std::span<P> weight, std::span<const P> u, std::span<bf16> copy) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
        store(weight[i], load(weight[i]) - rate * load(u[i]));
        if (!copy.empty()) store(copy[i], load(weight[i]));
    }
}

}  // namespace longhaul::kernels::reference
