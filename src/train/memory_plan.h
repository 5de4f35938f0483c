// How much memory a run takes, from its specification alone, by the code that then lays the tensors out.
#pragma once

#include <string>
#include <vector>

#include "model/stage.h"
#include "spec/run.h"

namespace longhaul::train {

struct MemoryItem {
    std::string name;
    std::size_t bytes = 0;
};
struct MemoryPlan {
    std::vector<MemoryItem> items;
    [[nodiscard]] std::size_t total() const;
};

[[nodiscard]] MemoryPlan plan_memory(const spec::Run& run);
[[nodiscard]] model::StageOptions stage_options(const spec::Run& run);

}  // namespace longhaul::train
