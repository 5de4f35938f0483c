// The part of the model that a rank holds (here: all of it), with memory for one micro-batch in flight.
#pragma once

#include <memory>
#include <vector>

#include "model/block.h"
#include "model/head.h"

namespace longhaul::model {

struct StageOptions {
    Geometry geometry;  // of a micro-batch
    spec::Recompute recompute = spec::Recompute::none;
};

// Token ids of a micro-batch, each [sequences x seq]; a negative target is ignored.
struct MicroBatch {
    std::span<const std::int32_t> inputs;
    std::span<const std::int32_t> targets;
};

class Stage {
public:
    // `device`, `model`, `parameters` and `ledger` (may be null) must outlive the stage.
    Stage(const kernels::Device& device, const spec::Model& model, const Parameters& parameters,
          const StageOptions& options, MemoryLedger* ledger);
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    // Bytes of the activations' arena, by the same code that then lays them out.
    static std::size_t planned_bytes(const spec::Model& model, DType compute, const StageOptions& options);

    // Forward through all blocks and the head, with the head's backward: returns the sum of losses in nats.
    // `scale` is what the sum is multiplied by in the gradient: 1 / (tokens with a target in the whole step).
    double forward(const MicroBatch& batch, const Occasion& occasion, float scale);
    // Backward of the newest forward; parameters' gradients are added to.
    void backward();
    // Forward only, without dropout.
    double evaluate(const MicroBatch& batch);

private:
    struct Plan;
    static Plan lay_out(Arena& arena, const spec::Model& model, const Layout& layout, DType compute,
                        const StageOptions& options);
    [[nodiscard]] Environment environment(const Occasion& occasion) const;
    ConstTensorView through_blocks(const Environment& env, const MicroBatch& batch);

    const kernels::Device& device_;
    const spec::Model& model_;
    const Parameters& parameters_;
    StageOptions options_;
    Arena arena_;
    Buffer rope_;
    std::unique_ptr<Plan> plan_;
    Occasion occasion_;  // of the newest forward
    std::vector<std::int32_t> inputs_;
};

// cos and sin of the model's rotation for positions [0, positions), or an empty buffer for learned positions.
[[nodiscard]] Buffer make_rope(const spec::Model& model, std::int64_t positions, MemoryLedger* ledger);
[[nodiscard]] ConstTensorView rope_view(const spec::Model& model, std::int64_t positions,
                                        const Buffer& buffer);

}  // namespace longhaul::model
