// The update of each global tensor in turn; a tensor is what the family's Hugging Face form stores as one.
#include "optim/optimizer.h"

#include <cmath>

#include "base/error.h"
#include "kernels/kernels.h"

namespace longhaul::optim {

namespace {

std::span<float> part(std::span<float> all, const model::GlobalTensor& tensor) {
    return all.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.count()));
}

std::span<float> floats(const Buffer& buffer) {
    return {reinterpret_cast<float*>(buffer.data()), buffer.bytes() / sizeof(float)};
}

}  // namespace

Optimizer::Optimizer(const spec::Optimizer& options, const kernels::Device& device,
                     const model::Parameters& parameters, MemoryLedger* ledger)
    : options_(options),
      device_(device),
      parameters_(parameters),
      first_(parameters.masters().size_bytes(), "optimizer, first moments", ledger),
      second_(parameters.masters().size_bytes(), "optimizer, second moments", ledger) {}

std::span<float> Optimizer::first_moments() const {
    return floats(first_);
}
std::span<float> Optimizer::second_moments() const {
    return floats(second_);
}

GradientNorms Optimizer::gradient_norms() const {
    GradientNorms norms;
    double sum = 0;
    for (const model::GlobalTensor& tensor : parameters_.layout().tensors) {
        const double squares = kernels::sum_squares(device_, parameters_.gradient(tensor));
        sum += squares;
        norms.by_tensor.push_back(std::sqrt(squares));
    }
    norms.global = std::sqrt(sum);
    return norms;
}

void Optimizer::step(std::int64_t update, double lr, double global_norm) {
    const auto t = static_cast<double>(update);
    kernels::AdamStep adam;
    adam.lr = static_cast<float>(lr);
    adam.beta1 = static_cast<float>(options_.beta1);
    adam.beta2 = static_cast<float>(options_.beta2);
    adam.eps = static_cast<float>(options_.eps);
    adam.correction1 = static_cast<float>(1.0 - std::pow(options_.beta1, t));
    adam.correction2 = static_cast<float>(1.0 - std::pow(options_.beta2, t));
    const bool clips = options_.grad_clip > 0 && global_norm > options_.grad_clip;
    adam.grad_scale = clips ? static_cast<float>(options_.grad_clip / global_norm) : 1.0F;

    for (const model::GlobalTensor& tensor : parameters_.layout().tensors) {
        adam.decay = tensor.decays() ? static_cast<float>(options_.weight_decay) : 0.0F;
        const std::span<float> weight = parameters_.master(tensor);
        const std::span<float> gradient = parameters_.gradient(tensor);
        const std::span<float> m = part(first_moments(), tensor);
        const std::span<float> v = part(second_moments(), tensor);
        if (options_.name == spec::OptimizerName::adamw) {
            kernels::adamw_update(device_, adam, weight, gradient, m, v, parameters_.copy(tensor));
        } else {
            const kernels::LambNorms norms = kernels::lamb_direction(device_, adam, weight, gradient, m, v);
            const bool both = norms.weight_squares > 0 && norms.update_squares > 0;
            const double trust = both ? std::sqrt(norms.weight_squares / norms.update_squares) : 1.0;
            kernels::lamb_apply(device_, static_cast<float>(lr * trust), weight, gradient,
                                parameters_.copy(tensor));
        }
    }
}

void Optimizer::zero_gradients() {
    const std::span<float> all = parameters_.gradients();
    kernels::fill_zero(device_, TensorView(all.data(), DType::f32, {std::ssize(all)}));
}

std::vector<double> weight_norms(const kernels::Device& device, const model::Parameters& parameters) {
    std::vector<double> norms;
    for (const model::GlobalTensor& tensor : parameters.layout().tensors) {
        norms.push_back(std::sqrt(kernels::sum_squares(device, parameters.master(tensor))));
    }
    return norms;
}

}  // namespace longhaul::optim
