// RUN/tensor_norms.jsonl: gradient norm of each tensor at each step, weight norm of each at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <vector>

#include "model/layout.h"
#include "spec/model.h"

namespace longhaul::train {

class TensorNormsLog {
public:
    // Appends; a run that goes on at `step` drops what stands there of later steps. Tensors carry our name
    // and, in "hf_name", the one of the family's Hugging Face form.
    TensorNormsLog(const std::filesystem::path& path, const spec::Model& model, const model::Layout& layout,
                   std::int64_t step);
    // {"step": 3, "grad_norm": {...}}, before clipping, in the layout's order.
    void gradients(std::int64_t step, const std::vector<double>& norms);
    // {"step": 10, "weight_norm": {...}}
    void weights(std::int64_t step, const std::vector<double>& norms);

private:
    void write(std::int64_t step, const char* what, const std::vector<double>& norms);
    std::ofstream file_;
    std::vector<std::string> names_;
};

}  // namespace longhaul::train
