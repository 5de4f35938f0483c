// Packs the tensors of a model, slot by slot.
#include "model/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/checked.h"

namespace longhaul::model {

namespace {

// Slots start on 64 bytes of fp32.
constexpr std::int64_t kAlign = 16;

struct Part {
    std::string name;
    std::int64_t rows;
};

class Packer {
public:
    explicit Packer(Layout& layout) : layout_(layout) {}

    // Matrices [rows, columns] that stand under each other.
    Slot matrix(const std::vector<Part>& parts, std::int64_t columns, double std) {
        return pack(parts, columns, {std, 0.0F}, true);
    }
    Slot vector(const std::vector<Part>& parts, float constant) {
        return pack(parts, 1, {0.0, constant}, false);
    }

private:
    Slot pack(const std::vector<Part>& parts, std::int64_t columns, Initial initial, bool matrix) {
        const std::int64_t start = round_up(layout_.size, kAlign);
        std::int64_t at = start;
        std::int64_t rows = 0;
        for (const Part& part : parts) {
            const Shape shape = matrix ? Shape{part.rows, columns} : Shape{part.rows};
            layout_.tensors.push_back({part.name, shape, at, initial});
            at += shape.count();
            rows += part.rows;
        }
        layout_.size = at;
        layout_.parameters += at - start;
        return matrix ? Slot{start, rows, columns} : Slot{start, 1, rows};
    }

    Layout& layout_;
};

struct NormSlots {
    Slot weight, bias;
};

NormSlots pack_norm(Packer& packer, const spec::Model& m, const std::string& name) {
    NormSlots slots;
    slots.weight = packer.vector({{name + ".weight", m.hidden}}, 1.0F);
    if (m.norm == spec::Norm::layernorm && m.bias)
        slots.bias = packer.vector({{name + ".bias", m.hidden}}, 0.0F);
    return slots;
}

// The same parts with another ending.
std::vector<Part> ending(std::vector<Part> parts, const char* text) {
    for (Part& part : parts) part.name += text;
    return parts;
}

BlockSlots pack_block(Packer& packer, const spec::Model& m, std::int64_t index) {
    const std::string at = fmt::format("layers.{}.", index);
    const double into_residual = m.init_std / std::sqrt(2.0 * static_cast<double>(m.layers));
    BlockSlots b;

    const NormSlots attention_norm = pack_norm(packer, m, at + "attention.norm");
    b.attention_norm_weight = attention_norm.weight;
    b.attention_norm_bias = attention_norm.bias;

    std::vector<Part> qkv = {{at + "attention.q", m.heads * m.dim()},
                             {at + "attention.k", m.kv() * m.dim()},
                             {at + "attention.v", m.kv() * m.dim()}};
    if (m.family == spec::Family::gpt2) qkv = {{at + "attention.qkv", m.qkv_columns()}};
    b.qkv_weight = packer.matrix(ending(qkv, ".weight"), m.hidden, m.init_std);
    if (m.has_qkv_bias()) b.qkv_bias = packer.vector(ending(qkv, ".bias"), 0.0F);

    const std::vector<Part> output = {{at + "attention.output", m.hidden}};
    b.output_weight = packer.matrix(ending(output, ".weight"), m.heads * m.dim(), into_residual);
    if (m.bias) b.output_bias = packer.vector(ending(output, ".bias"), 0.0F);

    if (!m.parallel_block) {
        const NormSlots mlp_norm = pack_norm(packer, m, at + "mlp.norm");
        b.mlp_norm_weight = mlp_norm.weight;
        b.mlp_norm_bias = mlp_norm.bias;
    }

    const std::int64_t ffn = m.feed_forward();
    std::vector<Part> up = {{at + "mlp.up", ffn}};
    if (m.activation == spec::Activation::swiglu) up.insert(up.begin(), {at + "mlp.gate", ffn});
    b.up_weight = packer.matrix(ending(up, ".weight"), m.hidden, m.init_std);
    if (m.bias) b.up_bias = packer.vector(ending(up, ".bias"), 0.0F);

    const std::vector<Part> down = {{at + "mlp.down", m.hidden}};
    b.down_weight = packer.matrix(ending(down, ".weight"), ffn, into_residual);
    if (m.bias) b.down_bias = packer.vector(ending(down, ".bias"), 0.0F);
    return b;
}

}  // namespace

const GlobalTensor* Layout::find(std::string_view name) const {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const GlobalTensor& t) { return t.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

Layout make_layout(const spec::Model& m) {
    Layout layout;
    Packer packer(layout);
    layout.tokens = packer.matrix({{"embedding.tokens.weight", m.vocab}}, m.hidden, m.init_std);
    if (m.positions == spec::Positions::learned) {
        layout.positions = packer.matrix({{"embedding.positions.weight", m.seq}}, m.hidden, m.init_std);
    }
    for (std::int64_t i = 0; i < m.layers; ++i) layout.blocks.push_back(pack_block(packer, m, i));
    const NormSlots final_norm = pack_norm(packer, m, "final_norm");
    layout.final_norm_weight = final_norm.weight;
    layout.final_norm_bias = final_norm.bias;
    layout.head_weight =
        m.tie_embeddings ? layout.tokens : packer.matrix({{"head.weight", m.vocab}}, m.hidden, m.init_std);
    if (m.head_bias) layout.head_bias = packer.vector({{"head.bias", m.vocab}}, 0.0F);
    layout.size = round_up(layout.size, kAlign);
    require(layout.parameters == spec::parameter_count(m), ErrorCode::internal,
            "the layout holds {} parameters, the model has {}", layout.parameters, spec::parameter_count(m));
    return layout;
}

}  // namespace longhaul::model
