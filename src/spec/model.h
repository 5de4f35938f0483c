// What a model is: one decoder with orthogonal options, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::spec {

enum class Norm { layernorm, rmsnorm };
enum class Activation { gelu, swiglu };
enum class Positions { learned, rope };
// Whose Hugging Face form the model exports to. It also decides which tensors are one for LAMB's trust ratio
// and for norms: what that form stores as one (gpt2 stores query, key and value as one, the others store them
// apart).
enum class Family { gpt2, llama, mistral, qwen2, phi };

struct Model {
    Family family = Family::gpt2;
    std::int64_t layers = 12;
    std::int64_t hidden = 768;
    std::int64_t heads = 12;
    std::int64_t kv_heads = 0;  // 0: as many as heads
    std::int64_t head_dim = 0;  // 0: hidden / heads
    std::int64_t ffn = 0;  // 0: 4 x hidden for gelu; 8/3 x hidden rounded up to a multiple of 256 for swiglu
    std::int64_t vocab = 50257;
    std::int64_t seq = 1024;  // longest sequence: rows of learned positions, and the training sequence
    Norm norm = Norm::layernorm;
    double norm_eps = 1e-5;
    Activation activation = Activation::gelu;
    Positions positions = Positions::learned;
    double rope_theta = 10000.0;
    double rotary_fraction = 1.0;
    bool parallel_block = false;  // y = x + MLP(LN(x)) + Attention(LN(x)) with one norm
    std::int64_t window = 0;      // keys that a query sees, itself included; 0: all earlier ones
    bool bias = true;             // on every linear of the blocks and on layer norms
    bool qkv_bias = true;         // on query, key and value alone where bias = false
    bool head_bias = false;       // on the output head
    bool tie_embeddings = true;
    double dropout = 0.0;  // on embeddings, attention probabilities and both residual branches
    double init_std =
        0.02;  // of weight matrices; projections back into the residual stream: / sqrt(2 layers)

    [[nodiscard]] std::int64_t kv() const { return kv_heads == 0 ? heads : kv_heads; }
    [[nodiscard]] std::int64_t dim() const { return head_dim == 0 ? hidden / heads : head_dim; }
    [[nodiscard]] std::int64_t feed_forward() const;
    // Columns of the fused query-key-value product.
    [[nodiscard]] std::int64_t qkv_columns() const { return (heads + 2 * kv()) * dim(); }
    [[nodiscard]] std::int64_t rotary_dim() const;
    [[nodiscard]] bool has_qkv_bias() const { return bias || qkv_bias; }
    friend bool operator==(const Model&, const Model&) = default;
};

// Each fault as one sentence; empty where the model can be built.
[[nodiscard]] std::vector<std::string> faults(const Model& model);

// Trainable values, tied embeddings once.
[[nodiscard]] std::int64_t parameter_count(const Model& model);
// Parameters of matrix multiplications: the output head counts (tied or not), an embedding look-up does not.
[[nodiscard]] std::int64_t matmul_parameters(const Model& model);
// Mean number of keys that a query attends to, of `seq` positions under the causal or sliding-window mask.
[[nodiscard]] double mean_keys(const Model& model, std::int64_t seq);
// 6 x matmul parameters + 12 x layers x (heads x head_dim) x k. Recomputation never counts.
[[nodiscard]] double train_flops_per_token(const Model& model, std::int64_t seq);

struct Preset {
    std::string_view name;
    std::string_view help;
    Model model;
};
[[nodiscard]] const std::vector<Preset>& presets();
// nullptr for an unknown name.
[[nodiscard]] const Preset* find_preset(std::string_view name);

}  // namespace longhaul::spec
