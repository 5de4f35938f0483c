// Import and export of Hugging Face folders: the fixtures there and back, the variants that occur, what is
// refused.
#include "checkpoint/hugging_face.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.h"
#include "support.h"

namespace longhaul::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Scratch;
using testing::write_file;

const char* const kFixtures[] = {"gpt2-tiny", "llama-tiny", "mistral-tiny-window16",
                                 "phi-tiny-parallel-block"};

fs::path fixture(const std::string& name) {
    return fs::path(LONGHAUL_FIXTURES) / name;
}

struct Imported {
    HuggingFaceConfig config;
    model::Layout layout;
    std::vector<float> flat;

    explicit Imported(const fs::path& folder)
        : config(read_hf_config(folder)), layout(model::make_layout(config.model)) {
        flat.resize(static_cast<std::size_t>(layout.size));
        read_hf_weights(folder, config.model, layout, flat);
    }
    void export_to(const fs::path& out, ExportOptions options = {}) const {
        if (!options.special_tokens.bos) options.special_tokens = config.special_tokens;
        export_hf(
            out, config.model,
            [&](const model::GlobalTensor& tensor, std::span<float> values) {
                const auto at = flat.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
                std::copy(at, at + tensor.count(), values.begin());
            },
            options);
    }
};

// A tensor of a file, loose, so that tests can make variants.
struct Loose {
    std::string name;
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};

std::vector<Loose> load(const fs::path& file) {
    const SafetensorsReader reader(file);
    std::vector<Loose> list;
    for (const TensorEntry& entry : reader.entries()) {
        list.push_back(
            {entry.name, entry.shape, std::vector<float>(static_cast<std::size_t>(entry.count()))});
        reader.read_float(entry, list.back().values);
    }
    return list;
}

void store(const fs::path& file, const std::vector<Loose>& list, DType dtype = DType::f32) {
    std::vector<TensorSpec> specs;
    for (const Loose& tensor : list) specs.push_back({tensor.name, dtype, tensor.shape});
    SafetensorsWriter writer(file, specs, {{"format", "pt"}});
    for (const Loose& tensor : list) {
        if (dtype == DType::f32) {
            writer.write(std::as_bytes(std::span(tensor.values)));
            continue;
        }
        std::vector<std::uint16_t> words;
        for (const float value : tensor.values)
            words.push_back(dtype == DType::bf16 ? bf16(value).bits : float_to_half(value));
        writer.write(std::as_bytes(std::span(words)));
    }
    (void)writer.finish();
}

// A folder like a fixture, with the tensors changed.
fs::path variant(const Scratch& scratch, const std::string& name, const std::string& of,
                 const std::function<void(std::vector<Loose>&)>& change, DType dtype = DType::f32) {
    const fs::path folder = scratch / name;
    fs::create_directory(folder);
    fs::copy_file(fixture(of) / "config.json", folder / "config.json");
    std::vector<Loose> list = load(fixture(of) / "model.safetensors");
    change(list);
    store(folder / "model.safetensors", list, dtype);
    return folder;
}

// Same names, shapes, types and bytes.
void expect_same_tensors(const fs::path& a, const fs::path& b) {
    const SafetensorsReader one(a);
    const SafetensorsReader two(b);
    EXPECT_EQ(one.entries().size(), two.entries().size());
    for (const TensorEntry& entry : one.entries()) {
        const TensorEntry* other = two.find(entry.name);
        ASSERT_NE(other, nullptr) << entry.name;
        EXPECT_EQ(entry.shape, other->shape) << entry.name;
        EXPECT_EQ(entry.dtype, other->dtype) << entry.name;
        const auto x = one.bytes(entry);
        const auto y = two.bytes(*other);
        EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << entry.name;
    }
}

class Fixture : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Fixture, ::testing::ValuesIn(kFixtures), [](const auto& param) {
    std::string name = param.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST_P(Fixture, exported_again_is_identical) {
    const Scratch scratch;
    const Imported imported(fixture(GetParam()));
    imported.export_to(scratch / "out");
    expect_same_tensors(fixture(GetParam()) / "model.safetensors", scratch / "out/model.safetensors");
    // Every field of the original configuration has the same value.
    const Json before = Json::parse(read_file(fixture(GetParam()) / "config.json"));
    const Json after = Json::parse(read_file(scratch / "out/config.json"));
    for (const auto& [key, value] : before.items()) EXPECT_EQ(after.value(key, Json()), value) << key;
    EXPECT_EQ(Imported(scratch / "out").config.model, imported.config.model);
    EXPECT_EQ(SafetensorsReader(scratch / "out/model.safetensors").metadata().at("format"), "pt");
}

TEST_P(Fixture, through_a_checkpoint) {
    const Scratch scratch;
    const Imported imported(fixture(GetParam()));
    spec::Run run;
    run.model = imported.config.model;
    SaveRequest request;
    request.config_toml = spec::to_toml(run);
    request.weights = saved_tensors(imported.layout, imported.flat);
    save_as(scratch / "c", request);
    const Checkpoint checkpoint = Checkpoint::open(scratch / "c");
    EXPECT_EQ(checkpoint.run().model, imported.config.model);
    export_hf(
        scratch / "out", checkpoint.run().model,
        [&](const model::GlobalTensor& t, std::span<float> out) { checkpoint.read_weight(t.name, out); });
    expect_same_tensors(fixture(GetParam()) / "model.safetensors", scratch / "out/model.safetensors");
}

TEST_P(Fixture, sharded_there_and_back) {
    const Scratch scratch;
    const Imported imported(fixture(GetParam()));
    ExportOptions options;
    options.max_shard_bytes = 200'000;
    imported.export_to(scratch / "out", options);
    EXPECT_FALSE(fs::exists(scratch / "out/model.safetensors"));
    const Json index = Json::parse(read_file(scratch / "out/model.safetensors.index.json"));
    EXPECT_EQ(index.at("metadata").at("total_size"), 4 * imported.layout.parameters);
    EXPECT_EQ(index.at("weight_map").size(), imported.layout.tensors.size());
    EXPECT_TRUE(fs::exists(scratch / ("out/" + index["weight_map"].begin()->get<std::string>())));
    EXPECT_EQ(Imported(scratch / "out").flat, imported.flat);
}

TEST_P(Fixture, bf16_and_fp16) {
    const Scratch scratch;
    const Imported imported(fixture(GetParam()));
    for (const DType dtype : {DType::bf16, DType::f16}) {
        const fs::path out = scratch / std::string(name_of(dtype));
        ExportOptions options;
        options.dtype = dtype;
        imported.export_to(out, options);
        const Imported again(out);
        for (const model::GlobalTensor& tensor : imported.layout.tensors) {
            for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count(); ++i) {
                const float x = imported.flat[static_cast<std::size_t>(i)];
                const float wanted =
                    dtype == DType::bf16 ? static_cast<float>(bf16(x)) : half_to_float(float_to_half(x));
                ASSERT_EQ(again.flat[static_cast<std::size_t>(i)], wanted) << tensor.name;
            }
        }
        // What is exact in the type comes back as the same bytes.
        again.export_to(scratch / "again", options);
        expect_same_tensors(out / "model.safetensors", scratch / "again/model.safetensors");
        fs::remove_all(scratch / "again");
        const Json config = Json::parse(read_file(out / "config.json"));
        EXPECT_EQ(config.at("torch_dtype"), dtype == DType::bf16 ? "bfloat16" : "float16");
    }
}

TEST_P(Fixture, without_the_prefix) {
    const Scratch scratch;
    const fs::path folder = variant(scratch, "plain", GetParam(), [](std::vector<Loose>& list) {
        for (Loose& tensor : list) {
            for (const std::string prefix : {"transformer.", "model."}) {
                if (tensor.name.starts_with(prefix)) tensor.name.erase(0, prefix.size());
            }
        }
    });
    EXPECT_EQ(Imported(folder).flat, Imported(fixture(GetParam())).flat);
}

TEST_P(Fixture, lists_every_missing_unknown_and_misshapen_tensor) {
    const Scratch scratch;
    std::string missing, misshapen;
    const fs::path folder = variant(scratch, "bad", GetParam(), [&](std::vector<Loose>& list) {
        missing = list[2].name;
        list.erase(list.begin() + 2);
        misshapen = list[5].name;
        list[5].shape.push_back(1);
        list.push_back({"model.layers.9.surprise", {1}, {0}});
    });
    const std::string error = error_of(ErrorCode::bad_data, [&] { (void)Imported(folder); });
    EXPECT_THAT(error, HasSubstr(missing + " is missing"));
    EXPECT_THAT(error, HasSubstr(misshapen + " has the shape"));
    EXPECT_THAT(error, HasSubstr("layers.9.surprise ([1]) has no place"));
}

TEST(HuggingFace, known_values_of_the_fixtures) {
    const spec::Model gpt2 = read_hf_config(fixture("gpt2-tiny")).model;
    EXPECT_EQ(gpt2.ffn, 256);
    EXPECT_TRUE(gpt2.tie_embeddings);
    EXPECT_EQ(gpt2.dropout, 0.0);
    const HuggingFaceConfig llama = read_hf_config(fixture("llama-tiny"));
    EXPECT_EQ(llama.model.kv(), 2);
    EXPECT_FALSE(llama.model.bias || llama.model.qkv_bias || llama.model.tie_embeddings);
    EXPECT_EQ(llama.special_tokens, (SpecialTokens{1, {2}}));
    EXPECT_EQ(read_hf_config(fixture("mistral-tiny-window16")).model.window, 16);
    const spec::Model phi = read_hf_config(fixture("phi-tiny-parallel-block")).model;
    EXPECT_TRUE(phi.parallel_block && phi.head_bias && phi.bias);
    EXPECT_EQ(phi.rotary_dim(), 8);
    EXPECT_EQ(hf_name(phi, "layers.3.attention.output.bias"), "model.layers.3.self_attn.dense.bias");
    EXPECT_EQ(hf_name(phi, "final_norm.bias"), "model.final_layernorm.bias");
    EXPECT_EQ(hf_name(llama.model, "layers.0.attention.q.weight"), "model.layers.0.self_attn.q_proj.weight");
    EXPECT_EQ(hf_name(gpt2, "layers.12.attention.qkv.weight"), "transformer.h.12.attn.c_attn.weight");
    EXPECT_EQ(hf_name(gpt2, "head.weight"), "lm_head.weight");
}

// Our [out, in] against the file's [in, out], by hand.
TEST(HuggingFace, gpt2_linears_are_transposed) {
    const Imported imported(fixture("gpt2-tiny"));
    const std::vector<Loose> list = load(fixture("gpt2-tiny") / "model.safetensors");
    const auto stored = std::find_if(
        list.begin(), list.end(), [](const Loose& t) { return t.name == "transformer.h.1.mlp.c_fc.weight"; });
    const model::GlobalTensor* ours = imported.layout.find("layers.1.mlp.up.weight");
    ASSERT_EQ(ours->shape, (Shape{256, 64}));
    for (std::size_t out = 0; out < 256; out += 17) {
        for (std::size_t in = 0; in < 64; in += 5) {
            EXPECT_EQ(imported.flat[static_cast<std::size_t>(ours->offset) + out * 64 + in],
                      stored->values[in * 256 + out]);
        }
    }
}

TEST(HuggingFace, buffers_are_ignored) {
    const Scratch scratch;
    const fs::path gpt2 = variant(scratch, "gpt2", "gpt2-tiny", [](std::vector<Loose>& list) {
        list.push_back({"transformer.h.0.attn.bias", {1, 1, 64, 64}, std::vector<float>(4096)});
        list.push_back({"transformer.h.3.attn.masked_bias", {}, {-1e4F}});
    });
    EXPECT_EQ(Imported(gpt2).flat, Imported(fixture("gpt2-tiny")).flat);
    const fs::path llama = variant(scratch, "llama", "llama-tiny", [](std::vector<Loose>& list) {
        list.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {8}, std::vector<float>(8)});
    });
    EXPECT_EQ(Imported(llama).flat, Imported(fixture("llama-tiny")).flat);
    // The buffer of one family is no buffer in another.
    const fs::path wrong = variant(scratch, "wrong", "llama-tiny", [](std::vector<Loose>& list) {
        list.push_back({"model.layers.0.attn.bias", {1}, {0}});
    });
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)Imported(wrong); }), HasSubstr("attn.bias"));
}

TEST(HuggingFace, a_tied_head_must_be_equal) {
    const Scratch scratch;
    const auto with_head = [&](const std::string& name, const std::function<void(Loose&)>& change,
                               bool keep) {
        return variant(scratch, name, "gpt2-tiny", [&](std::vector<Loose>& list) {
            Loose head = list.front();
            EXPECT_EQ(head.name, "transformer.wte.weight");
            head.name = "lm_head.weight";
            change(head);
            if (!keep) list.erase(list.begin());
            list.push_back(head);
        });
    };
    const std::vector<float> wanted = Imported(fixture("gpt2-tiny")).flat;
    EXPECT_EQ(Imported(with_head(
                           "equal", [](Loose&) {}, true))
                  .flat,
              wanted);
    EXPECT_EQ(Imported(with_head(
                           "alone", [](Loose&) {}, false))
                  .flat,
              wanted);
    const fs::path other = with_head(
        "other", [](Loose& head) { head.values[7] += 1; }, true);
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)Imported(other); }),
                HasSubstr("lm_head.weight differs"));
    const fs::path shape = with_head(
        "shape",
        [](Loose& head) {
            head.shape = {64, 512};
        },
        true);
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)Imported(shape); }),
                HasSubstr("lm_head.weight differs"));
}

TEST(HuggingFace, damaged_folders) {
    const Scratch scratch;
    const auto refused = [](const fs::path& folder) {
        return error_of(ErrorCode::bad_data, [&] { (void)Imported(folder); });
    };
    EXPECT_FALSE(is_hugging_face(scratch / "nowhere"));
    EXPECT_TRUE(is_hugging_face(fixture("gpt2-tiny")));
    EXPECT_THAT(refused(scratch / "nowhere"), HasSubstr("No such file"));
    const fs::path folder = scratch / "a";
    fs::create_directory(folder);
    write_file(folder / "config.json", "{");
    EXPECT_FALSE(is_hugging_face(folder));
    EXPECT_THAT(refused(folder), HasSubstr("is not JSON"));
    write_file(folder / "config.json", "[1]");
    EXPECT_THAT(refused(folder), HasSubstr("not a JSON object"));
    write_file(folder / "config.json", read_file(fixture("gpt2-tiny") / "config.json"));
    EXPECT_THAT(refused(folder), HasSubstr("holds neither model.safetensors nor"));
    write_file(folder / "model.safetensors.index.json", R"({"weight_map":{"a":"../x.safetensors"}})");
    EXPECT_THAT(refused(folder), HasSubstr("leads out of the folder"));
    write_file(folder / "model.safetensors.index.json", R"({"weight_map":{"a":"x.safetensors"}})");
    EXPECT_THAT(refused(folder), HasSubstr("x.safetensors, which is missing"));
    write_file(folder / "model.safetensors.index.json", R"({"weight_map":{"a":1}})");
    EXPECT_THAT(refused(folder), HasSubstr("is damaged"));
    // An index that promises a tensor which its file lacks.
    fs::copy_file(fixture("gpt2-tiny") / "model.safetensors", folder / "x.safetensors");
    write_file(
        folder / "model.safetensors.index.json",
        R"({"weight_map":{"transformer.wte.weight":"x.safetensors","transformer.h.0.lost":"x.safetensors"}})");
    EXPECT_THAT(refused(folder), HasSubstr("promises tensor transformer.h.0.lost in x.safetensors"));
    write_file(folder / "model.safetensors.index.json",
               R"({"weight_map":{"transformer.wte.weight":"x.safetensors"}})");
    EXPECT_EQ(Imported(folder).flat, Imported(fixture("gpt2-tiny")).flat);
    fs::resize_file(folder / "x.safetensors", fs::file_size(folder / "x.safetensors") - 4);
    EXPECT_THAT(refused(folder), HasSubstr("cut short"));
    const fs::path twice = variant(scratch, "twice", "llama-tiny", [](std::vector<Loose>& list) {
        list.push_back(list[1]);
        list.back().name.erase(0, 6);
    });
    EXPECT_THAT(refused(twice), HasSubstr("is there twice"));
}

// A fixture's config.json with fields changed (null removes).
class Config : public ::testing::Test {
protected:
    HuggingFaceConfig with(const std::string& of, const Json& change,
                           const std::vector<std::string>& without = {}) {
        Json json = Json::parse(read_file(fixture(of) / "config.json"));
        if (!change.empty()) json.update(change);
        for (const std::string& key : without) json.erase(key);
        write_file(scratch / "config.json", json.dump());
        return read_hf_config(scratch.path());
    }
    std::string refusal(const std::string& of, const Json& change) {
        return error_of(ErrorCode::bad_data, [&] { (void)with(of, change); });
    }
    Scratch scratch;
};

TEST_F(Config, what_cannot_be_computed_is_refused_with_the_reason) {
    EXPECT_THAT(refusal("gpt2-tiny", {{"activation_function", "gelu"}}),
                HasSubstr("activation_function = gelu"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"scale_attn_by_inverse_layer_idx", true}}),
                HasSubstr("scale_attn_by_inverse_layer_idx = true"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"scale_attn_weights", false}}), HasSubstr("scale_attn_weights"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"n_head", 5}}), HasSubstr("heads"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"n_layer", -4}}), HasSubstr("n_layer = -4"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"n_layer", "4"}}), HasSubstr("n_layer"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"vocab_size", 18446744073709551615U}}), HasSubstr("vocab_size"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"model_type", "bloom"}}),
                HasSubstr("model_type 'bloom' is none of gpt2"));
    EXPECT_THAT(refusal("gpt2-tiny", {{"quantization_config", {{"bits", 4}}}}), HasSubstr("quantised"));
    EXPECT_THAT(refusal("llama-tiny", {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}}),
                HasSubstr("rope_type linear"));
    EXPECT_THAT(refusal("llama-tiny", {{"rope_parameters", {{"rope_type", "llama3"}}}}),
                HasSubstr("rope_type llama3"));
    EXPECT_THAT(refusal("llama-tiny", {{"rope_parameters", {{"full_attention", {{"rope_theta", 1.0}}}}}}),
                HasSubstr("full_attention"));
    EXPECT_THAT(refusal("llama-tiny", {{"attention_bias", true}}), HasSubstr("mlp_bias"));
    EXPECT_THAT(refusal("llama-tiny", {{"hidden_act", "gelu"}}), HasSubstr("hidden_act = gelu"));
    EXPECT_THAT(refusal("llama-tiny", {{"rms_norm_eps", 0}}), HasSubstr("rms_norm_eps"));
    EXPECT_THAT(refusal("phi-tiny-parallel-block", {{"qk_layernorm", true}}),
                HasSubstr("qk_layernorm = true"));
    EXPECT_THAT(refusal("mistral-tiny-window16", {{"layer_types", {"full_attention"}}}),
                HasSubstr("layer_types"));
    // All of them at once.
    const std::string all =
        refusal("llama-tiny", {{"hidden_act", "relu"}, {"num_hidden_layers", 0}, {"mlp_bias", true}});
    EXPECT_THAT(all, HasSubstr("hidden_act"));
    EXPECT_THAT(all, HasSubstr("num_hidden_layers"));
    EXPECT_THAT(all, HasSubstr("mlp_bias"));
}

TEST_F(Config, fields_and_defaults_of_the_families) {
    EXPECT_EQ(with("gpt2-tiny", {{"n_inner", 100}}).model.ffn, 100);
    EXPECT_EQ(with("gpt2-tiny", {{"activation_function", "gelu_pytorch_tanh"}}).model.activation,
              spec::Activation::gelu);
    EXPECT_EQ(
        with("gpt2-tiny", {{"resid_pdrop", 0.1}, {"embd_pdrop", 0.1}, {"attn_pdrop", 0.1}}).model.dropout,
        0.1);
    EXPECT_EQ(with("gpt2-tiny", {{"resid_pdrop", 0.1}}).model.dropout, 0.0);
    EXPECT_EQ(with("gpt2-tiny", {{"eos_token_id", {3, 4}}}).special_tokens.eos,
              (std::vector<std::int64_t>{3, 4}));
    EXPECT_TRUE(
        with("gpt2-tiny", {{"eos_token_id", 512}}).special_tokens.eos.empty());  // beyond the vocabulary
    EXPECT_EQ(with("gpt2-tiny", {}, {"n_positions"}).model.seq, 64);
    const spec::Model biased = with("llama-tiny", {{"attention_bias", true}, {"mlp_bias", true}}).model;
    EXPECT_TRUE(biased.bias);
    EXPECT_EQ(with("llama-tiny", {}, {"rms_norm_eps"}).model.norm_eps, 1e-6);
    EXPECT_EQ(with("llama-tiny", {}, {"tie_word_embeddings"}).model.tie_embeddings, false);
    EXPECT_EQ(with("llama-tiny", {}, {"num_key_value_heads"}).model.kv(), 4);
    EXPECT_EQ(with("llama-tiny", {{"head_dim", 32}}).model.dim(), 32);
    EXPECT_EQ(with("llama-tiny", {{"rope_parameters", {{"rope_theta", 5e5}, {"rope_type", "default"}}}})
                  .model.rope_theta,
              5e5);
    EXPECT_EQ(with("phi-tiny-parallel-block",
                   {{"rope_parameters", {{"rope_theta", 100}, {"partial_rotary_factor", 0.25}}}},
                   {"partial_rotary_factor"})
                  .model.rotary_dim(),
              4);
    EXPECT_EQ(with("phi-tiny-parallel-block", {}, {"partial_rotary_factor"}).model.rotary_fraction, 0.5);
    EXPECT_EQ(with("phi-tiny-parallel-block", {{"num_key_value_heads", nullptr}}).model.kv(), 4);
    EXPECT_EQ(with("mistral-tiny-window16", {{"sliding_window", nullptr}}).model.window, 0);
    EXPECT_EQ(with("mistral-tiny-window16", {}, {"sliding_window"}).model.window, 4096);
    EXPECT_EQ(with("mistral-tiny-window16", {{"num_key_value_heads", nullptr}}).model.kv(), 4);
    // qwen2: a bias on q, k, v; a window only where it is switched on, on layers from max_window_layers on.
    const Json qwen = {{"model_type", "qwen2"}, {"sliding_window", 16}};
    const spec::Model plain = with("llama-tiny", qwen).model;
    EXPECT_TRUE(plain.qkv_bias && !plain.bias);
    EXPECT_EQ(plain.window, 0);
    Json window = qwen;
    window["use_sliding_window"] = true;
    EXPECT_EQ(with("llama-tiny", window).model.window, 0);  // 28 layers without come first
    window["max_window_layers"] = 0;
    EXPECT_EQ(with("llama-tiny", window).model.window, 16);
    window["max_window_layers"] = 2;
    EXPECT_THAT(refusal("llama-tiny", window), HasSubstr("max_window_layers = 2 of 4"));
}

// Models of each family, with the options that its form can say, out and in again.
TEST(HuggingFace, every_expressible_option_survives) {
    const Scratch scratch;
    std::vector<spec::Model> models;
    spec::Model gpt2 = spec::find_preset("gpt2-tiny")->model;
    gpt2.tie_embeddings = false;
    gpt2.ffn = 100;
    gpt2.dropout = 0.1;
    models.push_back(gpt2);
    spec::Model llama = spec::find_preset("llama-tiny")->model;
    llama.head_dim = 24;
    llama.bias = true;
    llama.rope_theta = 123456.5;
    llama.norm_eps = 1e-6;
    models.push_back(llama);
    spec::Model qwen = spec::find_preset("llama-tiny")->model;
    qwen.family = spec::Family::qwen2;
    qwen.qkv_bias = true;
    qwen.tie_embeddings = true;
    qwen.window = 9;
    models.push_back(qwen);
    qwen.window = 0;
    models.push_back(qwen);
    spec::Model mistral = spec::find_preset("llama-tiny")->model;
    mistral.family = spec::Family::mistral;
    models.push_back(mistral);
    spec::Model phi = read_hf_config(fixture("phi-tiny-parallel-block")).model;
    phi.rotary_fraction = 0.25;
    phi.kv_heads = 1;
    phi.tie_embeddings = true;
    models.push_back(phi);
    for (std::size_t i = 0; i < models.size(); ++i) {
        const spec::Model& model = models[i];
        ASSERT_THAT(hf_faults(model), IsEmpty()) << i;
        const fs::path out = scratch / std::to_string(i);
        const auto value = [](const model::GlobalTensor& tensor, std::size_t at) {
            return static_cast<float>(tensor.offset) + static_cast<float>(at) / 64.0F;
        };
        export_hf(out, model, [&](const model::GlobalTensor& tensor, std::span<float> values) {
            for (std::size_t at = 0; at < values.size(); ++at) values[at] = value(tensor, at);
        });
        const Imported again(out);
        EXPECT_EQ(model::make_layout(model).tensors.size(), again.layout.tensors.size());
        EXPECT_EQ(again.config.model.window, model.window);
        EXPECT_EQ(again.config.model.kv(), model.kv());
        EXPECT_EQ(again.config.model.dim(), model.dim());
        EXPECT_EQ(again.config.model.rope_theta, model.rope_theta);
        EXPECT_EQ(again.config.model.rotary_fraction, model.rotary_fraction);
        EXPECT_EQ(again.config.model.norm_eps, model.norm_eps);
        EXPECT_EQ(again.config.model.dropout, model.dropout);
        for (const model::GlobalTensor& tensor : again.layout.tensors) {
            for (const std::size_t at : {std::size_t{0}, static_cast<std::size_t>(tensor.count() - 1)}) {
                ASSERT_EQ(again.flat[static_cast<std::size_t>(tensor.offset) + at], value(tensor, at))
                    << tensor.name;
            }
        }
    }
}

TEST(HuggingFace, inexpressible_models_are_refused_with_the_reason) {
    const auto faults = [](const char* preset, const std::function<void(spec::Model&)>& change) {
        spec::Model model = spec::find_preset(preset)->model;
        change(model);
        const std::vector<std::string> list = hf_faults(model);
        return list.empty() ? std::string() : list.front();
    };
    EXPECT_THAT(faults("gpt2-tiny", [](spec::Model& m) { m.positions = spec::Positions::rope; }),
                HasSubstr("the gpt2 form needs positions = learned"));
    EXPECT_THAT(faults("gpt2-tiny", [](spec::Model& m) { m.bias = false; }), HasSubstr("bias = true"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.parallel_block = true; }),
                HasSubstr("the phi form has parallel blocks"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.window = 4; }),
                HasSubstr("the mistral and qwen2 forms have windows"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.qkv_bias = true; }), HasSubstr("qwen2"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.rotary_fraction = 0.5; }),
                HasSubstr("rotary_fraction = 1"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.head_bias = true; }),
                HasSubstr("head_bias = false"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.norm = spec::Norm::layernorm; }),
                HasSubstr("norm = rmsnorm"));
    EXPECT_THAT(faults("llama-tiny", [](spec::Model& m) { m.family = spec::Family::qwen2; }),
                HasSubstr("qkv_bias = true"));
    EXPECT_THAT(faults("megascale-175b", [](spec::Model&) {}), HasSubstr("positions = rope"));
    for (const spec::Preset& preset : spec::presets()) {
        if (!preset.name.starts_with("megascale")) {
            EXPECT_THAT(hf_faults(preset.model), IsEmpty()) << preset.name;
        }
    }
    const Scratch scratch;
    spec::Model model = spec::find_preset("llama-tiny")->model;
    model.window = 3;
    const auto read = [](const model::GlobalTensor&, std::span<float>) {};
    EXPECT_THAT(error_of(ErrorCode::bad_config, [&] { export_hf(scratch / "out", model, read); }),
                HasSubstr("no Hugging Face form"));
    EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST(HuggingFace, fp16_overflow_is_an_error_not_infinity) {
    const Scratch scratch;
    Imported imported(fixture("gpt2-tiny"));
    imported.flat[0] = 70000.0F;
    ExportOptions options;
    options.dtype = DType::f16;
    EXPECT_THAT(error_of(ErrorCode::bad_config, [&] { imported.export_to(scratch / "out", options); }),
                HasSubstr("embedding.tokens.weight holds 70000"));
    EXPECT_THAT(testing::names_in(scratch.path()), IsEmpty());
}

TEST(HuggingFace, export_replaces_only_exported_models) {
    const Scratch scratch;
    const Imported imported(fixture("llama-tiny"));
    fs::create_directory(scratch / "out");
    imported.export_to(scratch / "out");  // empty: taken
    EXPECT_THAT(error_of(ErrorCode::bad_config, [&] { imported.export_to(scratch / "out"); }),
                HasSubstr("is not empty"));
    ExportOptions replace;
    replace.replace = true;
    imported.export_to(scratch / "out", replace);
    EXPECT_THAT(testing::names_in(scratch.path()), ::testing::ElementsAre("out"));
    fs::create_directory(scratch / "mine");
    write_file(scratch / "mine/thesis.txt", "x");
    EXPECT_THAT(error_of(ErrorCode::bad_config, [&] { imported.export_to(scratch / "mine", replace); }),
                HasSubstr("holds other things"));
    EXPECT_EQ(read_file(scratch / "mine/thesis.txt"), "x");
}

TEST(HuggingFace, tokenizer_files_and_special_tokens) {
    const Scratch scratch;
    const Imported imported(fixture("gpt2-tiny"));
    write_file(scratch / "my-bpe.json",
               R"({"added_tokens":[{"id":7,"content":"<|endoftext|>","special":true}]})");
    ExportOptions options;
    options.tokenizer_files = {scratch / "my-bpe.json"};
    export_hf(
        scratch / "out", imported.config.model, [](const model::GlobalTensor&, std::span<float>) {}, options);
    EXPECT_EQ(read_file(scratch / "out/tokenizer.json"), read_file(scratch / "my-bpe.json"));
    const Json config = Json::parse(read_file(scratch / "out/config.json"));
    EXPECT_EQ(config.at("eos_token_id"), 7);
    EXPECT_EQ(config.at("bos_token_id"), 7);
    const Json tokenizer = Json::parse(read_file(scratch / "out/tokenizer_config.json"));
    EXPECT_EQ(tokenizer.at("eos_token"), "<|endoftext|>");
    EXPECT_EQ(tokenizer.at("model_max_length"), 64);
    EXPECT_EQ(hf_tokenizer_files(scratch / "out").size(), 2U);
    // A folder's own tokenizer_config.json is kept and believed.
    write_file(scratch / "out/tokenizer.json",
               R"({"added_tokens":[{"id":3,"content":"<end>"},{"id":7,"content":"<|endoftext|>"}]})");
    write_file(scratch / "out/tokenizer_config.json", R"({"eos_token":{"content":"<end>"},"mine":1})");
    options.tokenizer_files = hf_tokenizer_files(scratch / "out");
    export_hf(
        scratch / "out2", imported.config.model, [](const model::GlobalTensor&, std::span<float>) {},
        options);
    EXPECT_EQ(Json::parse(read_file(scratch / "out2/config.json")).at("eos_token_id"), 3);
    EXPECT_EQ(Json::parse(read_file(scratch / "out2/tokenizer_config.json")).at("mine"), 1);
}

}  // namespace
}  // namespace longhaul::checkpoint
