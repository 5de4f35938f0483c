// Writes a checkpoint into a hidden directory, reads it back, and gives it its name.
#include "checkpoint/save.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

namespace {

struct Stored {
    std::string kind;
    std::string key;
    const SavedTensor* tensor;
};

void check_request(const SaveRequest& request) {
    const auto check = [](const std::string& kind, const std::vector<SavedTensor>& tensors) {
        std::set<std::string_view> names;
        for (const SavedTensor& tensor : tensors) {
            require(tensor.shape.count() == static_cast<std::int64_t>(tensor.values.size()),
                    ErrorCode::internal, "tensor {} ({}) of shape {} is saved with {} values", tensor.name,
                    kind, tensor.shape.text(), tensor.values.size());
            require(names.insert(tensor.name).second, ErrorCode::internal, "tensor {} ({}) is saved twice",
                    tensor.name, kind);
        }
    };
    check(std::string(kWeightKind), request.weights);
    std::set<std::string_view> kinds = {kWeightKind};
    for (const auto& [kind, tensors] : request.optimizer) {
        require(kinds.insert(kind).second, ErrorCode::internal, "the optimizer's {} is saved twice", kind);
        check(kind, tensors);
    }
    std::set<fs::path> files;
    for (const fs::path& file : request.tokenizer_files) {
        require(files.insert(file.filename()).second, ErrorCode::bad_config,
                "two tokenizer files are called {}: a checkpoint keeps files by name",
                file.filename().string());
    }
}

class Writer {
public:
    Writer(fs::path directory, const SaveOptions& options)
        : directory_(std::move(directory)), options_(options) {}

    // Cuts the list into files of about options.file_bytes.
    void write_tensors(const std::string& stem, const std::vector<Stored>& tensors) {
        std::size_t first = 0;
        for (int number = 0; first < tensors.size(); ++number) {
            std::size_t last = first;
            std::size_t bytes = 0;
            while (
                last < tensors.size() &&
                (last == first || bytes + tensors[last].tensor->values.size_bytes() <= options_.file_bytes)) {
                bytes += tensors[last++].tensor->values.size_bytes();
            }
            write_file(fmt::format("{}-{:05d}.safetensors", stem, number),
                       std::span(tensors).subspan(first, last - first));
            first = last;
        }
    }

    void copy_tokenizer(const std::vector<fs::path>& files) {
        if (files.empty()) return;
        options_.write.announce("create directory", directory_ / "tokenizer");
        std::error_code error;
        fs::create_directory(directory_ / "tokenizer", error);
        require(!error, ErrorCode::bad_data, "cannot create {}: {}", (directory_ / "tokenizer").string(),
                error.message());
        for (const fs::path& source : files) {
            const std::string name = "tokenizer/" + source.filename().string();
            DurableFile copy(directory_ / name, options_.write);
            copy.write(read_file(source));
            copy.finish();
            manifest_.files.push_back({name, copy.size(), copy.hash()});
        }
    }

    void write_manifest(const SaveRequest& request) {
        manifest_.state = request.state;
        manifest_.special_tokens = request.special_tokens;
        manifest_.config_toml = request.config_toml;
        const std::string text = manifest_text(manifest_);
        DurableFile file(directory_ / kManifestName, options_.write);
        file.write(text);
        file.finish();
        manifest_hash_ = file.hash();
    }

    // What the disk holds against what was written.
    void verify_all() const {
        const auto check = [&](const std::string& name, std::uint64_t hash) {
            const fs::path path = directory_ / name;
            options_.write.announce("verify", path);
            require(hash_file(path, true).hash == hash, ErrorCode::bad_data,
                    "{} does not hold what was written to it: the disk, its controller or memory is at "
                    "fault; the "
                    "checkpoint was not completed",
                    path.string());
        };
        for (const StoredFile& file : manifest_.files) check(file.name, file.hash);
        check(std::string(kManifestName), manifest_hash_);
    }

private:
    void write_file(const std::string& name, std::span<const Stored> tensors) {
        std::vector<TensorSpec> specs;
        for (const Stored& stored : tensors)
            specs.push_back({stored.key, DType::f32, stored.tensor->shape.extents()});
        SafetensorsWriter writer(directory_ / name, specs, {{"format", "pt"}}, options_.write);
        for (const Stored& stored : tensors) writer.write(std::as_bytes(stored.tensor->values));
        const WrittenFile written = writer.finish();
        manifest_.files.push_back({name, written.bytes, written.hash});
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const std::vector<std::int64_t>& shape = specs[i].shape;
            manifest_.tensors.push_back({tensors[i].kind,
                                         tensors[i].tensor->name,
                                         std::string(safetensors_dtype(DType::f32)),
                                         shape,
                                         {{name, tensors[i].key, std::vector<std::int64_t>(shape.size(), 0),
                                           shape, written.tensor_hashes[i]}}});
        }
    }

    fs::path directory_;
    const SaveOptions& options_;
    Manifest manifest_;
    std::uint64_t manifest_hash_ = 0;
};

// Makes the folder of checkpoints where it is not there yet. It appears with a temporary in it (returned), so
// that a process that ends before its first save completes leaves no empty folder: that would look like lost
// checkpoints.
fs::path create_folder(const fs::path& checkpoints, const WriteOptions& options) {
    std::error_code error;
    if (fs::is_directory(checkpoints, error)) return {};
    options.announce("create directory", checkpoints);
    const fs::path parent = checkpoints.has_parent_path() ? checkpoints.parent_path() : fs::path(".");
    fs::create_directories(parent, error);
    require(!error, ErrorCode::bad_data, "cannot create {}: {}", parent.string(), error.message());
    StagedDirectory staged(checkpoints, options);
    const std::string mark = fmt::format(".step-first.tmp-{}", ::getpid());
    fs::create_directory(staged.path() / mark, error);
    require(!error, ErrorCode::bad_data, "cannot create {}: {}", (staged.path() / mark).string(),
            error.message());
    staged.commit();
    return checkpoints / mark;
}

}  // namespace

std::vector<SavedTensor> saved_tensors(const model::Layout& layout, std::span<const float> flat) {
    require(static_cast<std::int64_t>(flat.size()) >= layout.size, ErrorCode::internal,
            "a range of {} values for a layout of {}", flat.size(), layout.size);
    std::vector<SavedTensor> list;
    for (const model::GlobalTensor& tensor : layout.tensors) {
        list.push_back({tensor.name, tensor.shape,
                        flat.subspan(static_cast<std::size_t>(tensor.offset),
                                     static_cast<std::size_t>(tensor.count()))});
    }
    return list;
}

std::string step_name(std::int64_t step) {
    return fmt::format("step-{:08d}", step);
}

void save_as(const fs::path& directory, const SaveRequest& request, const SaveOptions& options) {
    check_request(request);
    StagedDirectory staged(directory, options.write);
    Writer writer(staged.path(), options);
    std::vector<Stored> weights;
    for (const SavedTensor& tensor : request.weights)
        weights.push_back({std::string(kWeightKind), tensor.name, &tensor});
    writer.write_tensors("model", weights);
    std::vector<Stored> optimizer;
    for (const auto& [kind, tensors] : request.optimizer) {
        for (const SavedTensor& tensor : tensors)
            optimizer.push_back({kind, kind + "/" + tensor.name, &tensor});
    }
    writer.write_tensors("optimizer", optimizer);
    writer.copy_tokenizer(request.tokenizer_files);
    writer.write_manifest(request);
    writer.verify_all();
    staged.commit();
}

fs::path save(const fs::path& checkpoints, const SaveRequest& request, const SaveOptions& options) {
    const fs::path first_mark = create_folder(checkpoints, options.write);
    const std::string name = step_name(request.state.step);
    save_as(checkpoints / name, request, options);
    write_text_durable(checkpoints / "latest", name + "\n", options.write);
    std::error_code error;
    if (!first_mark.empty()) fs::remove(first_mark, error);
    return checkpoints / name;
}

}  // namespace longhaul::checkpoint
