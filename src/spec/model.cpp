// Derived sizes, counts of parameters and FLOPs, and what makes a model impossible.
#include "spec/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace longhaul::spec {

std::int64_t Model::feed_forward() const {
    if (ffn != 0) return ffn;
    if (activation == Activation::gelu) return 4 * hidden;
    return round_up<std::int64_t>(div_ceil<std::int64_t>(8 * hidden, 3), 256);
}

std::int64_t Model::rotary_dim() const {
    // Hugging Face truncates too: int(partial_rotary_factor * head_dim).
    return static_cast<std::int64_t>(rotary_fraction * static_cast<double>(dim()));
}

namespace {

std::int64_t nearest_multiple(std::int64_t unit, std::int64_t wish) {
    return std::max<std::int64_t>(1, (wish + unit / 2) / unit) * unit;
}

// The fraction that rotates an even number of columns, printed so that it does when it is read again.
std::string nearest_rotary_fraction(const Model& m) {
    if (m.dim() < 2) return "nearest: model.head_dim = 2";
    const std::int64_t columns = std::max<std::int64_t>(2, m.rotary_dim() / 2 * 2);
    const auto dim = static_cast<double>(m.dim());
    double fraction = static_cast<double>(columns) / dim;
    while (static_cast<std::int64_t>(fraction * dim) < columns) fraction = std::nextafter(fraction, 2.0);
    return fmt::format("nearest: rotary_fraction = {}", fraction);
}

}  // namespace

std::vector<std::string> faults(const Model& m) {
    std::vector<std::string> found;
    auto check = [&](bool fine, std::string sentence) {
        if (!fine) found.push_back(std::move(sentence));
    };
    if (m.layers <= 0 || m.hidden <= 0 || m.heads <= 0 || m.vocab <= 0 || m.seq <= 0)
        return found;  // ranges are checked already
    check(m.head_dim != 0 || m.hidden % m.heads == 0,
          fmt::format("model.hidden = {} is not a multiple of model.heads = {}; nearest: hidden = {}, or set "
                      "model.head_dim",
                      m.hidden, m.heads, nearest_multiple(m.heads, m.hidden)));
    check(m.kv() > 0 && m.heads % m.kv() == 0,
          fmt::format("model.kv_heads = {} does not divide model.heads = {}; nearest that does: {}",
                      m.kv_heads, m.heads, nearest_divisor(m.heads, std::max<std::int64_t>(m.kv(), 1))));
    if (m.positions == Positions::rope) {
        check(m.rotary_dim() > 0 && m.rotary_dim() % 2 == 0 && m.rotary_dim() <= m.dim(),
              fmt::format("model.rotary_fraction = {} of a head of {} rotates {} columns; it must be an even "
                          "number of at least 2; {}",
                          m.rotary_fraction, m.dim(), m.rotary_dim(), nearest_rotary_fraction(m)));
    }
    // Each family's Hugging Face form can say only so much; a model that it can't say could not be exported.
    auto family = [&](bool fine, const char* name, const char* needs) {
        check(fine, fmt::format("model.family = {} needs {}", name, needs));
    };
    switch (m.family) {
        case Family::gpt2:
            family(m.norm == Norm::layernorm && m.activation == Activation::gelu && m.bias, "gpt2",
                   "norm = layernorm, activation = gelu, bias = true");
            family(
                m.positions == Positions::learned && m.kv() == m.heads && !m.parallel_block && m.window == 0,
                "gpt2", "positions = learned, kv_heads = heads, parallel_block = false, window = 0");
            family(!m.head_bias && (m.head_dim == 0 || m.head_dim * m.heads == m.hidden), "gpt2",
                   "head_bias = false and head_dim = hidden / heads");
            break;
        case Family::llama:
        case Family::mistral:
        case Family::qwen2:
        case Family::phi:
            break;  // other combinations train and are saved; export refuses the ones that the form can't say
    }
    return found;
}

std::int64_t matmul_parameters(const Model& m) {
    const std::int64_t attention = m.hidden * m.qkv_columns() + m.heads * m.dim() * m.hidden;
    const std::int64_t mlp = (m.activation == Activation::swiglu ? 3 : 2) * m.hidden * m.feed_forward();
    return m.layers * (attention + mlp) + m.hidden * m.vocab;
}

std::int64_t parameter_count(const Model& m) {
    const std::int64_t norm = m.norm == Norm::layernorm && m.bias ? 2 * m.hidden : m.hidden;
    std::int64_t block = (m.parallel_block ? 1 : 2) * norm;
    if (m.has_qkv_bias()) block += m.qkv_columns();
    if (m.bias)
        block += m.hidden + m.hidden + (m.activation == Activation::swiglu ? 2 : 1) * m.feed_forward();
    std::int64_t total = matmul_parameters(m) + m.layers * block + norm;
    if (!m.tie_embeddings) total += m.hidden * m.vocab;
    if (m.head_bias) total += m.vocab;
    if (m.positions == Positions::learned) total += m.seq * m.hidden;
    return total;
}

double mean_keys(const Model& m, std::int64_t seq) {
    const auto s = static_cast<double>(seq);
    if (m.window == 0 || m.window >= seq) return (s + 1) / 2;
    const auto w = static_cast<double>(m.window);
    return (w * (w + 1) / 2 + (s - w) * w) / s;
}

double train_flops_per_token(const Model& m, std::int64_t seq) {
    return 6.0 * static_cast<double>(matmul_parameters(m)) +
           12.0 * static_cast<double>(m.layers * m.heads * m.dim()) * mean_keys(m, seq);
}

}  // namespace longhaul::spec
