// The sum of what training holds.
#include "train/memory_plan.h"

#include "kernels/kernels.h"
#include "spec/validate.h"

namespace longhaul::train {

std::size_t MemoryPlan::total() const {
    std::size_t sum = 0;
    for (const MemoryItem& item : items) sum += item.bytes;
    return sum;
}

model::StageOptions stage_options(const spec::Run& run) {
    return {{run.parallel.micro_batch, spec::sequence(run)}, run.parallel.recompute};
}

MemoryPlan plan_memory(const spec::Run& run) {
    const auto values = static_cast<std::size_t>(model::make_layout(run.model).size);
    MemoryPlan plan;
    plan.items.push_back({"parameters, fp32 masters", 4 * values});
    if (run.train.precision == DType::bf16) plan.items.push_back({"parameters, bf16 copy", 2 * values});
    plan.items.push_back({"gradients, fp32", 4 * values});
    plan.items.push_back({"optimizer moments, fp32", 8 * values});
    plan.items.push_back(
        {"activations", model::Stage::planned_bytes(run.model, run.train.precision, stage_options(run))});
    const spec::Model& m = run.model;
    plan.items.push_back({"kernel scratch", kernels::planned_scratch(
                                                {run.parallel.micro_batch, spec::sequence(run),
                                                 spec::sequence(run), m.heads, m.kv(), m.dim(), m.window})});
    const std::int64_t rotary =
        run.model.positions == spec::Positions::rope ? run.model.rotary_dim() * spec::sequence(run) : 0;
    // Token ids of a step: the samples, split into inputs and targets, and what the loader holds ahead.
    const std::int64_t ids = run.train.global_batch *
                             (spec::sequence(run) * 2 + (spec::sequence(run) + 1) * (1 + run.data.prefetch));
    plan.items.push_back({"tables and token ids", static_cast<std::size_t>(4 * (rotary + ids))});
    return plan;
}

}  // namespace longhaul::train
