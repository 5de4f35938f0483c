// A Hugging Face folder out of a model: config.json, safetensors (in shards where large), the tokenizer's
// files.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/durable.h"
#include "checkpoint/hf_form.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/transpose.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

struct Item {
    const model::GlobalTensor* tensor;
    TensorSpec spec;
};

// Values as bytes of the wanted type. Half precision has a short range: a value beyond it is an error, not
// infinity.
void convert(std::span<const float> values, DType dtype, const std::string& name,
             std::vector<std::byte>& out) {
    out.resize(values.size() * size_of(dtype));
    if (dtype == DType::f32) {
        std::memcpy(out.data(), values.data(), out.size());
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t word = dtype == DType::bf16 ? bf16(values[i]).bits : float_to_half(values[i]);
        if (dtype == DType::f16 && std::isfinite(values[i]) && (word & 0x7C00U) == 0x7C00U) {
            fail(ErrorCode::bad_config, "tensor {} holds {}, which fp16 can't: export as bf16 or fp32", name,
                 values[i]);
        }
        std::memcpy(out.data() + i * sizeof(word), &word, sizeof(word));
    }
}

void require_free(const fs::path& directory, bool replace) {
    std::error_code error;
    if (!fs::exists(directory, error)) return;
    require(fs::is_directory(directory, error), ErrorCode::bad_config, "{} is there and is no directory",
            directory.string());
    if (fs::is_empty(directory, error)) return;
    require(replace, ErrorCode::bad_config, "{} is not empty; --force replaces an exported model",
            directory.string());
    require(is_hugging_face(directory), ErrorCode::bad_config,
            "{} holds other things than an exported model: name another directory", directory.string());
}

class Exporter {
public:
    Exporter(fs::path directory, const spec::Model& model, const ReadTensor& read,
             const ExportOptions& options)
        : directory_(std::move(directory)), model_(model), read_(read), options_(options) {}

    void write_weights(const model::Layout& layout) {
        const std::vector<std::vector<Item>> shards = cut(layout);
        if (shards.size() == 1) {
            write_shard(std::string(kHfWeights), shards.front());
            return;
        }
        Json index;
        std::size_t total = 0;
        for (const auto& shard : shards) {
            for (const Item& item : shard) total += item.spec.bytes();
        }
        index["metadata"]["total_size"] = total;
        index["weight_map"] = Json::object();
        for (std::size_t i = 0; i < shards.size(); ++i) {
            const std::string name = fmt::format("model-{:05d}-of-{:05d}.safetensors", i + 1, shards.size());
            write_shard(name, shards[i]);
            for (const Item& item : shards[i]) index["weight_map"][item.spec.name] = name;
        }
        write_text(std::string(kHfIndex), index.dump(2) + "\n");
    }

    void write_text(const std::string& name, std::string_view text) {
        DurableFile file(directory_ / name, {});
        file.write(text);
        file.finish();
    }

    // A file that is the tokenizer but has another name gets the one that other tools look for.
    void copy_tokenizer(const SpecialTokens& special_tokens) {
        bool has_json = false;
        bool has_config = false;
        for (const fs::path& source : options_.tokenizer_files) {
            const std::string name = exported_name(source);
            has_json = has_json || name == "tokenizer.json";
            has_config = has_config || name == "tokenizer_config.json";
            write_text(name, read_file(source));
        }
        if (has_json && !has_config) write_text("tokenizer_config.json", tokenizer_config(special_tokens));
    }

private:
    [[nodiscard]] std::vector<std::vector<Item>> cut(const model::Layout& layout) const {
        std::vector<std::vector<Item>> shards(1);
        std::int64_t bytes = 0;
        for (const model::GlobalTensor& tensor : layout.tensors) {
            Item item{&tensor, {hf_name(model_, tensor.name), options_.dtype, {}}};
            for (int axis = 0; axis < tensor.shape.rank(); ++axis)
                item.spec.shape.push_back(tensor.shape[axis]);
            if (hf_transposed(model_, tensor.name))
                std::reverse(item.spec.shape.begin(), item.spec.shape.end());
            const auto size = narrow<std::int64_t>(item.spec.bytes());
            if (!shards.back().empty() && bytes + size > options_.max_shard_bytes) {
                shards.emplace_back();
                bytes = 0;
            }
            bytes += size;
            shards.back().push_back(std::move(item));
        }
        return shards;
    }

    void write_shard(const std::string& name, const std::vector<Item>& items) {
        std::vector<TensorSpec> specs;
        specs.reserve(items.size());
        for (const Item& item : items) specs.push_back(item.spec);
        SafetensorsWriter writer(directory_ / name, std::move(specs), {{"format", "pt"}});
        for (const Item& item : items) {
            const model::GlobalTensor& tensor = *item.tensor;
            values_.resize(static_cast<std::size_t>(tensor.count()));
            read_(tensor, values_);
            if (hf_transposed(model_, tensor.name)) {
                turned_.resize(values_.size());
                transpose(values_, tensor.shape[0], tensor.shape[1], turned_);
                std::swap(values_, turned_);
            }
            convert(values_, options_.dtype, tensor.name, bytes_);
            writer.write(bytes_);
        }
        const WrittenFile written = writer.finish();
        require(hash_file(directory_ / name, true).hash == written.hash, ErrorCode::bad_data,
                "{} does not hold what was written to it", (directory_ / name).string());
    }

    [[nodiscard]] std::string exported_name(const fs::path& source) const {
        static constexpr std::string_view kKnown[] = {
            "tokenizer.json",          "tokenizer_config.json", "vocab.json",
            "special_tokens_map.json", "added_tokens.json",     "tokenizer.model",
            "generation_config.json"};
        std::string name = source.filename().string();
        if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) return name;
        if (options_.tokenizer_files.size() == 1 && source.extension() == ".json") return "tokenizer.json";
        if (options_.tokenizer_files.size() == 1 && source.extension() == ".model") return "tokenizer.model";
        return name;
    }

    [[nodiscard]] std::string tokenizer_config(const SpecialTokens& special_tokens) const {
        Json json;
        json["tokenizer_class"] = "PreTrainedTokenizerFast";
        json["model_max_length"] = model_.seq;
        json["clean_up_tokenization_spaces"] = false;
        const auto name = [&](const char* key, std::int64_t id) {
            const std::string text = hf_token_text(options_.tokenizer_files, id);
            if (!text.empty()) json[key] = text;
        };
        if (special_tokens.bos) name("bos_token", *special_tokens.bos);
        if (!special_tokens.eos.empty()) name("eos_token", special_tokens.eos.front());
        return json.dump(2) + "\n";
    }

    fs::path directory_;
    const spec::Model& model_;
    const ReadTensor& read_;
    const ExportOptions& options_;
    std::vector<float> values_, turned_;
    std::vector<std::byte> bytes_;
};

}  // namespace

void export_hf(const fs::path& directory, const spec::Model& model, const ReadTensor& read,
               const ExportOptions& options) {
    const std::vector<std::string> faults = hf_faults(model);
    require(faults.empty(), ErrorCode::bad_config, "this model has no Hugging Face form:\n  {}",
            fmt::join(faults, "\n  "));
    require(options.dtype == DType::f32 || options.dtype == DType::bf16 || options.dtype == DType::f16,
            ErrorCode::bad_config, "weights can't be exported as {}", name_of(options.dtype));
    require_free(directory, options.replace);
    SpecialTokens special_tokens = options.special_tokens;
    if (!special_tokens.bos && special_tokens.eos.empty())
        special_tokens = hf_special_tokens(options.tokenizer_files);

    std::error_code error;
    fs::path target = directory.has_filename() ? directory : directory.parent_path();
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
    StagedDirectory staged(target, {});
    Exporter exporter(staged.path(), model, read, options);
    exporter.write_weights(model::make_layout(model));
    exporter.write_text("config.json", hf_config_text(model, special_tokens, options.dtype));
    exporter.copy_tokenizer(special_tokens);
    staged.commit();
}

}  // namespace longhaul::checkpoint
