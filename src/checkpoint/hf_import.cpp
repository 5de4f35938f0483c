// Weights of a Hugging Face folder into a flat range; every tensor of its files is accounted for.
#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hf_form.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/transpose.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

namespace {

struct Source {
    const SafetensorsReader* file = nullptr;
    const TensorEntry* entry = nullptr;
    bool used = false;
};

// Tables that older programs stored beside the weights; they follow from the configuration.
bool is_buffer(std::string_view name, spec::Family family) {
    if (name.ends_with("rotary_emb.inv_freq") || name.ends_with("rotary_emb.cos_cached") ||
        name.ends_with("rotary_emb.sin_cached"))
        return true;
    return family == spec::Family::gpt2 &&
           (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

// The files to read; with an index also which tensor is promised in which.
struct Files {
    std::vector<fs::path> paths;
    std::map<std::string, std::string> promised;
};

Files list_files(const fs::path& directory) {
    std::error_code error;
    if (fs::exists(directory / kHfWeights, error)) return {{directory / kHfWeights}, {}};
    const fs::path index = directory / kHfIndex;
    require(
        fs::exists(index, error), ErrorCode::bad_data,
        "{} holds neither {} nor {}; weights in other formats (pytorch_model.bin) must be converted first",
        directory.string(), kHfWeights, kHfIndex);
    Files files;
    try {
        const nlohmann::json json = nlohmann::json::parse(read_file(index));
        for (const auto& [tensor, file] : json.at("weight_map").items())
            files.promised.emplace(tensor, file.get<std::string>());
    } catch (const nlohmann::json::exception&) {
        fail(ErrorCode::bad_data, "{} is damaged: it needs an object weight_map of tensor and file names",
             index.string());
    }
    std::set<std::string> names;
    for (const auto& [tensor, file] : files.promised) names.insert(file);
    for (const std::string& name : names) {
        require(!name.empty() && fs::path(name).filename() == name, ErrorCode::bad_data,
                "{}: the file name '{}' leads out of the folder", index.string(), name);
        require(fs::exists(directory / name, error), ErrorCode::bad_data, "{} names {}, which is missing",
                index.string(), name);
        files.paths.push_back(directory / name);
    }
    return files;
}

class Importer {
public:
    Importer(const fs::path& directory, const spec::Model& model) : directory_(directory), model_(model) {
        const Files files = list_files(directory);
        for (const fs::path& path : files.paths) readers_.emplace_back(path);
        for (const SafetensorsReader& reader : readers_) {
            for (const TensorEntry& entry : reader.entries()) {
                const std::string plain(without_prefix(entry.name));
                if (!sources_.emplace(plain, Source{&reader, &entry}).second)
                    faults_.push_back(fmt::format("tensor {} is there twice", entry.name));
            }
        }
        for (const auto& [tensor, file] : files.promised) {
            const auto found = sources_.find(without_prefix(tensor));
            if (found == sources_.end())
                faults_.push_back(
                    fmt::format("the index promises tensor {} in {}, where it is not", tensor, file));
        }
    }

    void read(const model::Layout& layout, std::span<float> flat) {
        std::vector<std::pair<const model::GlobalTensor*, Source*>> plan;
        for (const model::GlobalTensor& tensor : layout.tensors) plan.emplace_back(&tensor, take(tensor));
        Source* tied_head = nullptr;
        if (model_.tie_embeddings) {
            const auto head = sources_.find("lm_head.weight");
            if (head != sources_.end() && !head->second.used) {
                tied_head = &head->second;
                tied_head->used = true;
            }
        }
        for (const auto& [name, source] : sources_) {
            if (!source.used && !is_buffer(name, model_.family))
                faults_.push_back(fmt::format("tensor {} ({}) has no place in this model", source.entry->name,
                                              source.entry->shape_text()));
        }
        throw_faults();
        for (const auto& [tensor, source] : plan) copy(*tensor, *source, span_of(*tensor, flat));
        if (tied_head != nullptr) compare_head(*tied_head, *layout.find("embedding.tokens.weight"), flat);
    }

private:
    [[nodiscard]] std::string_view without_prefix(std::string_view name) const {
        const std::string_view prefix = hf_prefix(model_);
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
        return name;
    }

    static std::span<float> span_of(const model::GlobalTensor& tensor, std::span<float> flat) {
        return flat.subspan(static_cast<std::size_t>(tensor.offset),
                            static_cast<std::size_t>(tensor.count()));
    }

    // The source of a tensor, or a fault.
    Source* take(const model::GlobalTensor& tensor) {
        const std::string wanted = hf_name(model_, tensor.name);
        auto found = sources_.find(without_prefix(wanted));
        // Some programs keep a tied matrix under the head's name alone.
        if (found == sources_.end() && model_.tie_embeddings && tensor.name == "embedding.tokens.weight")
            found = sources_.find("lm_head.weight");
        if (found == sources_.end()) {
            faults_.push_back(fmt::format("tensor {} is missing", wanted));
            return nullptr;
        }
        Source& source = found->second;
        source.used = true;
        std::vector<std::int64_t> shape = tensor.shape.extents();
        if (hf_transposed(model_, tensor.name)) std::reverse(shape.begin(), shape.end());
        if (source.entry->shape != shape) {
            faults_.push_back(fmt::format("tensor {} has the shape {}, config.json asks for [{}]",
                                          source.entry->name, source.entry->shape_text(),
                                          fmt::join(shape, ", ")));
        } else if (!source.entry->is_float()) {
            faults_.push_back(fmt::format("tensor {} holds {}, not fp32, bf16 or fp16", source.entry->name,
                                          source.entry->dtype));
        }
        return &source;
    }

    void copy(const model::GlobalTensor& tensor, const Source& source, std::span<float> out) {
        if (!hf_transposed(model_, tensor.name)) {
            source.file->read_float(*source.entry, out);
            return;
        }
        scratch_.resize(out.size());
        source.file->read_float(*source.entry, scratch_);
        transpose(scratch_, tensor.shape[1], tensor.shape[0], out);
    }

    void compare_head(const Source& head, const model::GlobalTensor& tokens, std::span<float> flat) {
        const std::span<const float> embedding = span_of(tokens, flat);
        scratch_.resize(embedding.size());
        const std::vector<std::int64_t> shape = {tokens.shape[0], tokens.shape[1]};
        bool equal = head.entry->is_float() && head.entry->shape == shape;
        if (equal) {
            head.file->read_float(*head.entry, scratch_);
            equal = std::memcmp(scratch_.data(), embedding.data(), embedding.size_bytes()) == 0;
        }
        if (!equal) {
            faults_.emplace_back(
                "tensor lm_head.weight differs from the embedding, though config.json says that they are "
                "tied; set tie_word_embeddings to false there if the head is its own");
        }
        throw_faults();
    }

    void throw_faults() const {
        require(faults_.empty(), ErrorCode::bad_data, "{} does not fit its config.json:\n  {}",
                directory_.string(), fmt::join(faults_, "\n  "));
    }

    fs::path directory_;
    const spec::Model& model_;
    std::vector<SafetensorsReader> readers_;
    std::map<std::string, Source, std::less<>> sources_;  // by name without prefix
    std::vector<std::string> faults_;
    std::vector<float> scratch_;
};

}  // namespace

void read_hf_weights(const fs::path& directory, const spec::Model& model, const model::Layout& layout,
                     std::span<float> flat) {
    require(static_cast<std::int64_t>(flat.size()) >= layout.size, ErrorCode::internal,
            "a range of {} values for a layout of {}", flat.size(), layout.size);
    Importer(directory, model).read(layout, flat);
}

}  // namespace longhaul::checkpoint
