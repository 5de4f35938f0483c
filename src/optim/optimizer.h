// AdamW and LAMB over a model's parameters, with clipping by the global norm.
#pragma once

#include <string>
#include <vector>

#include "model/parameters.h"
#include "spec/run.h"

namespace longhaul::optim {

struct GradientNorms {
    double global = 0;              // of all tensors; not finite where an element is not
    std::vector<double> by_tensor;  // in the layout's order
};

class Optimizer {
public:
    // `parameters` and `device` must outlive the optimizer; moments are counted in `ledger` (may be null).
    Optimizer(const spec::Optimizer& options, const kernels::Device& device,
              const model::Parameters& parameters, MemoryLedger* ledger);

    [[nodiscard]] GradientNorms gradient_norms() const;
    // One update with the gradients scaled down to at most grad_clip, given their global norm. `update` = 1,
    // 2, ... counts the updates that were made (skipped steps don't count) for the moments' bias correction.
    // Gradients are left undefined.
    void step(std::int64_t update, double lr, double global_norm);
    void zero_gradients();

    // First and second moments, in the layout's offsets.
    [[nodiscard]] std::span<float> first_moments() const;
    [[nodiscard]] std::span<float> second_moments() const;

private:
    const spec::Optimizer options_;
    const kernels::Device& device_;
    const model::Parameters& parameters_;
    Buffer first_, second_;
};

// Norm of each tensor's weights, in the layout's order.
[[nodiscard]] std::vector<double> weight_norms(const kernels::Device& device,
                                               const model::Parameters& parameters);

}  // namespace longhaul::optim
