// The block's forward on a few new positions against all cached ones.
#include "model/decoder.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "model/stage.h"

namespace longhaul::model {

namespace {

// Positions that go through the blocks at once while a prompt is read.
constexpr std::int64_t kChunk = 128;

void copy_rows(ConstTensorView from, TensorView to) {
    const std::size_t bytes = static_cast<std::size_t>(from.columns()) * size_of(from.dtype);
    for (std::int64_t r = 0; r < from.rows(); ++r)
        std::memcpy(to.row_range(r, 1).data, from.row_range(r, 1).data, bytes);
}

}  // namespace

Decoder::Tensors Decoder::lay_out(Arena& arena, const spec::Model& m, const Layout& layout, DType compute,
                                  std::int64_t capacity) {
    const std::int64_t chunk = std::min(kChunk, capacity);
    const Shape hidden{chunk, m.hidden};
    Tensors t{
        .stream = arena.take("stream", compute, hidden),
        .next = arena.take("stream", compute, hidden),
        .normed = arena.take("normed", compute, hidden),
        .qkv = arena.take("qkv", compute, {chunk, m.qkv_columns()}),
        .mix = arena.take("mix", compute, {chunk, m.heads * m.dim()}),
        .lse = arena.take("lse", DType::f32, {1, m.heads, chunk}),
        .branch = arena.take("branch", compute, hidden),
        .up = arena.take("up", compute, {chunk, up_columns(m)}),
        .act = arena.take("activation", compute, {chunk, m.feed_forward()}),
        .statistics = {arena.take("mean", DType::f32, {chunk}), arena.take("rstd", DType::f32, {chunk})},
        .keys = arena.take("cached keys", compute, {m.layers * capacity, m.kv() * m.dim()}),
        .values = arena.take("cached values", compute, {m.layers * capacity, m.kv() * m.dim()}),
        .logits = arena.take("logits", DType::f32, {1, m.vocab}),
        .head = Head(layout)};
    t.head.lay_out(arena, m, {1, 1}, compute);
    return t;
}

Decoder::Decoder(const kernels::Device& device, const spec::Model& model, const Parameters& parameters,
                 std::int64_t capacity, MemoryLedger* ledger)
    : device_(device),
      model_(model),
      parameters_(parameters),
      capacity_(capacity),
      arena_(
          "decoder",
          [&] {
              Arena plan("decoder");
              lay_out(plan, model, parameters.layout(), parameters.compute(), capacity);
              return plan.peak();
          }(),
          ledger),
      rope_(make_rope(model, capacity, ledger)),
      t_(lay_out(arena_, model, parameters.layout(), parameters.compute(), capacity)) {
    require(capacity > 0 && (model.positions == spec::Positions::rope || capacity <= model.seq),
            ErrorCode::internal, "a decoder of {} positions for a model of {}", capacity, model.seq);
}

std::span<const float> Decoder::feed(std::span<const std::int32_t> tokens) {
    require(!tokens.empty() && position_ + std::ssize(tokens) <= capacity_, ErrorCode::internal,
            "{} tokens at position {} of a decoder for {}", tokens.size(), position_, capacity_);
    while (!tokens.empty()) {
        const std::size_t rows =
            std::min<std::size_t>(tokens.size(), static_cast<std::size_t>(std::min(kChunk, capacity_)));
        feed_chunk(tokens.first(rows));
        tokens = tokens.subspan(rows);
    }
    return {t_.logits.as<float>(), static_cast<std::size_t>(model_.vocab)};
}

void Decoder::feed_chunk(std::span<const std::int32_t> tokens) {
    const std::int64_t rows = std::ssize(tokens);
    ids_.assign(tokens.begin(), tokens.end());
    const Environment env{device_, model_, parameters_, rope_view(model_, capacity_, rope_), {1, rows}, {}};
    const Layout& layout = parameters_.layout();
    const ConstTensorView positions =
        layout.positions.present() ? parameters_.matrix(layout.positions) : ConstTensorView{};
    TensorView x = t_.stream.row_range(0, rows);
    TensorView y = t_.next.row_range(0, rows);
    kernels::embedding_forward(device_, ConstTensorView(ids_.data(), DType::i32, {rows}),
                               parameters_.matrix(layout.tokens), positions, rows, position_, x);
    for (std::int64_t i = 0; i < model_.layers; ++i) {
        block(env, i, rows, x, y);
        std::swap(x, y);
    }
    t_.head.logits(env, x.row_range(rows - 1, 1), t_.logits);
    position_ += rows;
}

void Decoder::block(const Environment& env, std::int64_t index, std::int64_t rows, TensorView x,
                    TensorView y) const {
    const BlockSlots& slots = parameters_.layout().blocks[static_cast<std::size_t>(index)];
    const NormStatistics statistics{TensorView(t_.statistics.mean.data, DType::f32, {rows}),
                                    TensorView(t_.statistics.rstd.data, DType::f32, {rows})};
    const TensorView normed = t_.normed.row_range(0, rows);
    const TensorView branch = t_.branch.row_range(0, rows);
    const TensorView qkv = t_.qkv.row_range(0, rows);
    const TensorView mix = t_.mix.row_range(0, rows);
    norm_forward(env, {slots.attention_norm_weight, slots.attention_norm_bias}, x, normed, statistics);
    kernels::linear_forward(device_, normed, parameters_.matrix(slots.qkv_weight),
                            parameters_.vector(slots.qkv_bias), qkv);

    const std::int64_t q_columns = model_.heads * model_.dim();
    const std::int64_t kv_columns = model_.kv() * model_.dim();
    const TensorView q = qkv.column_range(0, q_columns);
    const TensorView k = qkv.column_range(q_columns, kv_columns);
    if (env.rope) {
        kernels::rope(device_, env.rope, model_.dim(), rows, position_, false, q);
        kernels::rope(device_, env.rope, model_.dim(), rows, position_, false, k);
    }
    const std::int64_t first = index * capacity_;
    copy_rows(k, t_.keys.row_range(first + position_, rows));
    copy_rows(qkv.column_range(q_columns + kv_columns, kv_columns),
              t_.values.row_range(first + position_, rows));
    const std::int64_t known = position_ + rows;
    const kernels::AttentionShape shape{1,           rows,         known,        model_.heads,
                                        model_.kv(), model_.dim(), model_.window};
    const TensorView lse(t_.lse.data, DType::f32, {1, model_.heads, rows});
    kernels::attention_forward(device_, shape, q, t_.keys.row_range(first, known),
                               t_.values.row_range(first, known), {}, mix, lse);
    kernels::linear_forward(device_, mix, parameters_.matrix(slots.output_weight),
                            parameters_.vector(slots.output_bias), branch);
    kernels::add(device_, x, branch, branch);

    ConstTensorView mlp_input = normed;
    if (!model_.parallel_block) {
        norm_forward(env, {slots.mlp_norm_weight, slots.mlp_norm_bias}, branch, normed, statistics);
        mlp_input = normed;
    }
    mlp_forward(env, slots, mlp_input, {t_.up.row_range(0, rows), t_.act.row_range(0, rows)}, y);
    kernels::add(device_, branch, y, y);
}

}  // namespace longhaul::model
