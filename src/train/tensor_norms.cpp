// One JSON object a line.
#include "train/tensor_norms.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hugging_face.h"

namespace longhaul::train {

using nlohmann::ordered_json;

TensorNormsLog::TensorNormsLog(const std::filesystem::path& path, const spec::Model& model,
                               const model::Layout& layout, std::int64_t step) {
    for (const model::GlobalTensor& tensor : layout.tensors)
        names_.push_back(checkpoint::hf_name(model, tensor.name));
    // What an interrupted run wrote after the step that this one goes on from is no part of the run.
    std::string kept;
    if (step > 0 && std::filesystem::exists(path)) {
        std::ifstream old(path);
        std::string line;
        while (std::getline(old, line)) {
            const auto parsed = ordered_json::parse(line, nullptr, false);
            if (parsed.is_object() && parsed.contains("grad_norm") && parsed.value("step", step + 1) <= step)
                kept += line + "\n";
        }
    }
    write_file_atomic(path, kept);
    file_.open(path, std::ios::app);
    require(file_.is_open(), ErrorCode::bad_data, "cannot append to {}", path.string());
}

void TensorNormsLog::write(std::int64_t step, const char* what, const std::vector<double>& norms) {
    ordered_json by_name = ordered_json::object();
    for (std::size_t i = 0; i < norms.size(); ++i) by_name[names_[i]] = norms[i];
    file_ << ordered_json{{"step", step}, {what, std::move(by_name)}}.dump() << '\n' << std::flush;
    require(file_.good(), ErrorCode::bad_data, "cannot write tensor_norms.jsonl: the disk may be full");
}

void TensorNormsLog::gradients(std::int64_t step, const std::vector<double>& norms) {
    write(step, "grad_norm", norms);
}

void TensorNormsLog::weights(std::int64_t step, const std::vector<double>& norms) {
    write(step, "weight_norm", norms);
}

}  // namespace longhaul::train
