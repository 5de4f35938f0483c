// Embedding, blocks, head; all tensors laid out once before the first step.
#include "model/stage.h"

#include "base/checked.h"

namespace longhaul::model {

struct Stage::Plan {
    std::vector<Block> blocks;
    std::vector<TensorView> streams;  // [T, H]: input of each block, and the last block's output
    BlockScratch scratch;
    Head head;
    TensorView gradient;  // [T, H], of the stream, from the head down

    explicit Plan(const Layout& layout) : head(layout) {}
};

Stage::Plan Stage::lay_out(Arena& arena, const spec::Model& m, const Layout& layout, DType compute,
                           const StageOptions& options) {
    Plan plan(layout);
    const Shape hidden{options.geometry.tokens(), m.hidden};
    const BlockActivations shared =
        lay_out_shared_activations(arena, m, options.geometry, compute, options.recompute);
    plan.streams.push_back(arena.take("embeddings", compute, hidden));
    for (std::int64_t i = 0; i < m.layers; ++i) {
        plan.blocks.emplace_back(layout.blocks[static_cast<std::size_t>(i)], i);
        plan.blocks.back().lay_out(arena, m, options.geometry, compute, options.recompute, shared);
        plan.streams.push_back(arena.take("stream", compute, hidden));
    }
    plan.gradient = arena.take("d stream", compute, hidden);
    const TensorView branch = arena.take("branch", compute, hidden);
    {
        // The blocks' backward starts when the head's is done: their scratch overlays the head's logits.
        const ArenaScope scope(arena);
        plan.scratch = lay_out_block_scratch(arena, m, options.geometry, compute);
    }
    plan.scratch.branch = branch;
    plan.head.lay_out(arena, m, options.geometry, compute);
    return plan;
}

std::size_t Stage::planned_bytes(const spec::Model& m, DType compute, const StageOptions& options) {
    Arena arena("activations");
    lay_out(arena, m, make_layout(m), compute, options);
    return arena.peak();
}

Buffer make_rope(const spec::Model& m, std::int64_t positions, MemoryLedger* ledger) {
    if (m.positions != spec::Positions::rope) return {};
    Buffer buffer(static_cast<std::size_t>(positions * m.rotary_dim()) * sizeof(float), "rotary table",
                  ledger);
    kernels::rope_table(m.rope_theta, buffer.view(DType::f32, {positions, m.rotary_dim()}));
    return buffer;
}

ConstTensorView rope_view(const spec::Model& m, std::int64_t positions, const Buffer& buffer) {
    if (buffer.data() == nullptr) return {};
    return buffer.view(DType::f32, {positions, m.rotary_dim()});
}

Stage::Stage(const kernels::Device& device, const spec::Model& model, const Parameters& parameters,
             const StageOptions& options, MemoryLedger* ledger)
    : device_(device),
      model_(model),
      parameters_(parameters),
      options_(options),
      arena_("activations", planned_bytes(model, parameters.compute(), options), ledger),
      rope_(make_rope(model, options.geometry.seq, ledger)) {
    plan_ =
        std::make_unique<Plan>(lay_out(arena_, model, parameters.layout(), parameters.compute(), options));
}

Stage::~Stage() = default;

Environment Stage::environment(const Occasion& occasion) const {
    return {device_,           model_,  parameters_, rope_view(model_, options_.geometry.seq, rope_),
            options_.geometry, occasion};
}

ConstTensorView Stage::through_blocks(const Environment& env, const MicroBatch& batch) {
    const std::int64_t tokens = options_.geometry.tokens();
    require(std::ssize(batch.inputs) == tokens && std::ssize(batch.targets) == tokens, ErrorCode::internal,
            "a micro-batch of {} inputs and {} targets came to a stage of {} tokens", batch.inputs.size(),
            batch.targets.size(), tokens);
    inputs_.assign(batch.inputs.begin(), batch.inputs.end());
    const ConstTensorView ids(inputs_.data(), DType::i32, {tokens});
    const Layout& layout = parameters_.layout();
    const ConstTensorView positions =
        layout.positions.present() ? parameters_.matrix(layout.positions) : ConstTensorView{};
    const TensorView embedded = plan_->streams.front();
    kernels::embedding_forward(device_, ids, parameters_.matrix(layout.tokens), positions,
                               options_.geometry.seq, 0, embedded);
    const kernels::Dropout mask = env.mask("embedding");
    if (mask.on()) kernels::dropout(device_, embedded, mask, options_.geometry.seq, embedded);
    for (std::size_t i = 0; i < plan_->blocks.size(); ++i) {
        plan_->blocks[i].forward(env, plan_->streams[i], plan_->scratch, plan_->streams[i + 1]);
    }
    return plan_->streams.back();
}

double Stage::forward(const MicroBatch& batch, const Occasion& occasion, float scale) {
    occasion_ = occasion;
    const Environment env = environment(occasion);
    const ConstTensorView x = through_blocks(env, batch);
    const ConstTensorView targets(batch.targets.data(), DType::i32, {options_.geometry.tokens()});
    return plan_->head.forward_backward(env, x, targets, scale, plan_->gradient);
}

void Stage::backward() {
    const Environment env = environment(occasion_);
    for (std::size_t i = plan_->blocks.size(); i-- > 0;) {
        plan_->blocks[i].backward(env, plan_->streams[i], plan_->scratch, plan_->gradient);
    }
    const TensorView gradient = plan_->gradient;
    const kernels::Dropout mask = env.mask("embedding");
    if (mask.on()) kernels::dropout(device_, gradient, mask, options_.geometry.seq, gradient);
    const ConstTensorView ids(inputs_.data(), DType::i32, {options_.geometry.tokens()});
    const Layout& layout = parameters_.layout();
    kernels::embedding_backward(device_, ids, gradient, options_.geometry.seq,
                                parameters_.gradient(layout.tokens), parameters_.gradient(layout.positions));
}

double Stage::evaluate(const MicroBatch& batch) {
    const Environment env = environment({});
    const ConstTensorView x = through_blocks(env, batch);
    const ConstTensorView targets(batch.targets.data(), DType::i32, {options_.geometry.tokens()});
    return plan_->head.forward(env, x, targets);
}

}  // namespace longhaul::model
