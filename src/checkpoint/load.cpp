// Opening a checkpoint: every fault is collected, so that one look names all of them.
#include "checkpoint/load.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/parallel_for.h"
#include "checkpoint/durable.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "spec/config.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

struct Checkpoint::State {
    fs::path directory;
    Manifest manifest;
    std::map<std::string, SafetensorsReader> readers;  // by file name

    // Why a tensor can't be read; "" where it can.
    [[nodiscard]] std::string tensor_fault(const StoredTensor& tensor, bool check_hash) const;
    void read(std::string_view kind, std::string_view name, std::span<float> out) const;
    void read_all(std::string_view kind, const model::Layout& layout, std::span<float> flat) const;
    // Fills the members; what is wrong comes back.
    std::vector<std::string> open(const fs::path& path, Check check);

private:
    std::vector<std::string> open_files(Check check);
    std::vector<std::string> config_faults() const;
};

namespace {

constexpr std::string_view kSafetensors = ".safetensors";

std::string shape_text(const std::vector<std::int64_t>& shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string in_words(std::string_view kind) {
    return kind == kWeightKind ? "" : fmt::format(" (optimizer's {})", kind);
}

// Tensors of this kind that the layout lacks, and the other way round.
std::vector<std::string> layout_faults(const Manifest& manifest, std::string_view kind,
                                       const model::Layout& layout) {
    std::vector<std::string> faults;
    std::map<std::string_view, const StoredTensor*> stored;
    for (const StoredTensor& tensor : manifest.tensors) {
        if (tensor.kind == kind) stored.emplace(tensor.name, &tensor);
    }
    for (const model::GlobalTensor& wanted : layout.tensors) {
        const auto found = stored.find(wanted.name);
        if (found == stored.end()) {
            faults.push_back(fmt::format("tensor {}{} is missing", wanted.name, in_words(kind)));
            continue;
        }
        if (found->second->shape != wanted.shape.extents()) {
            faults.push_back(fmt::format("tensor {}{} has the shape {}, the model needs {}", wanted.name,
                                         in_words(kind), shape_text(found->second->shape),
                                         wanted.shape.text()));
        }
        stored.erase(found);
    }
    for (const auto& [name, tensor] : stored)
        faults.push_back(fmt::format("tensor {}{} is in no layer of the model", name, in_words(kind)));
    return faults;
}

std::string file_fault(const fs::path& path, const StoredFile& file, Check check) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return fmt::format("{} is missing", path.string());
    if (!fs::is_regular_file(status)) return fmt::format("{} is not a regular file", path.string());
    const auto bytes = fs::file_size(path, error);
    if (error) return fmt::format("{}: {}", path.string(), error.message());
    if (bytes != file.bytes) {
        return fmt::format("{} has {} bytes, the manifest says {}: it was {}", path.string(), bytes,
                           file.bytes, bytes < file.bytes ? "cut short" : "written to later");
    }
    if (check == Check::hashes) {
        try {
            if (hash_file(path, false).hash != file.hash)
                return fmt::format("{}: its hash is not the manifest's: its content is damaged",
                                   path.string());
        } catch (const Error& failure) {
            return failure.what();
        }
    }
    return "";
}

}  // namespace

std::vector<std::string> Checkpoint::State::open(const fs::path& path, Check check) {
    directory = path;
    std::error_code error;
    if (!fs::exists(path, error)) return {fmt::format("{} does not exist", path.string())};
    if (!fs::is_directory(path, error)) return {fmt::format("{} is not a directory", path.string())};
    const fs::path manifest_path = path / kManifestName;
    if (!fs::exists(manifest_path, error)) {
        return {fmt::format("{} has no {}: it is no checkpoint, or one whose save did not finish",
                            path.string(), kManifestName)};
    }
    try {
        manifest = parse_manifest(read_file(manifest_path), manifest_path.string());
    } catch (const Error& failure) {
        return {failure.what()};
    }
    std::vector<std::string> faults = open_files(check);
    for (std::string& fault : config_faults()) faults.push_back(std::move(fault));
    return faults;
}

std::vector<std::string> Checkpoint::State::open_files(Check check) {
    std::vector<std::string> by_file(manifest.files.size());
    std::size_t bytes = 0;
    for (const StoredFile& file : manifest.files) bytes += file.bytes;
    const auto one = [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        by_file[at] = file_fault(directory / manifest.files[at].name, manifest.files[at], check);
    };
    // Threads pay where hashing takes longer than waking them.
    constexpr std::size_t kWorthThreads = std::size_t{64} << 20U;
    const auto count = static_cast<std::int64_t>(by_file.size());
    if (bytes > kWorthThreads && check == Check::hashes) {
        parallel_for(count, one);
    } else {
        for (std::int64_t i = 0; i < count; ++i) one(i);
    }
    std::vector<std::string> faults;
    std::set<std::string_view> unreadable;
    std::set<std::string_view> damaged;
    for (std::size_t i = 0; i < by_file.size(); ++i) {
        const StoredFile& file = manifest.files[i];
        if (!by_file[i].empty()) {
            faults.push_back(by_file[i]);
            damaged.insert(file.name);
        }
        if (!file.name.ends_with(kSafetensors)) continue;
        try {
            readers.emplace(file.name, SafetensorsReader(directory / file.name));
        } catch (const Error& failure) {
            unreadable.insert(file.name);
            if (by_file[i].empty()) faults.emplace_back(failure.what());
        }
    }
    for (const StoredTensor& tensor : manifest.tensors) {
        const std::string& file = tensor.slices.front().file;
        if (unreadable.contains(file)) continue;
        std::string fault = tensor_fault(tensor, damaged.contains(file));
        if (!fault.empty()) faults.push_back(std::move(fault));
    }
    return faults;
}

std::string Checkpoint::State::tensor_fault(const StoredTensor& tensor, bool check_hash) const {
    const Slice& slice = tensor.slices.front();
    const auto reader = readers.find(slice.file);
    const std::string where = (directory / slice.file).string();
    if (reader == readers.end())
        return fmt::format("{} holds tensor {} but is no safetensors file", where, tensor.name);
    const TensorEntry* entry = reader->second.find(slice.key);
    if (entry == nullptr)
        return fmt::format("{}: tensor {}{} is not in it", where, tensor.name, in_words(tensor.kind));
    if (entry->shape != slice.shape || entry->dtype != tensor.dtype || !entry->is_float()) {
        return fmt::format("{}: tensor {}{} is {} {}, the manifest says {} {}", where, tensor.name,
                           in_words(tensor.kind), entry->dtype, entry->shape_text(), tensor.dtype,
                           shape_text(slice.shape));
    }
    if (check_hash && hash64(reader->second.bytes(*entry)) != slice.hash)
        return fmt::format("{}: tensor {}{} is damaged", where, tensor.name, in_words(tensor.kind));
    return "";
}

std::vector<std::string> Checkpoint::State::config_faults() const {
    const std::string where = (directory / kManifestName).string();
    std::vector<std::string> faults;
    try {
        const spec::Run run = spec::parse_config(manifest.config_toml, "config", {});
        for (const std::string& fault : layout_faults(manifest, kWeightKind, model::make_layout(run.model)))
            faults.push_back(fmt::format("{}: {}", where, fault));
    } catch (const Error& failure) {
        faults.push_back(fmt::format("{}: its configuration can't be used: {}", where, failure.what()));
    }
    return faults;
}

void Checkpoint::State::read(std::string_view kind, std::string_view name, std::span<float> out) const {
    const StoredTensor* tensor = manifest.find(kind, name);
    require(tensor != nullptr, ErrorCode::bad_data, "{} holds no tensor {}{}", directory.string(), name,
            in_words(kind));
    const SafetensorsReader& reader = readers.at(tensor->slices.front().file);
    const TensorEntry* entry = reader.find(tensor->slices.front().key);
    require(entry->count() == static_cast<std::int64_t>(out.size()), ErrorCode::bad_data,
            "{}: tensor {}{} has the shape {}, {} values are asked for", directory.string(), name,
            in_words(kind), entry->shape_text(), out.size());
    reader.read_float(*entry, out);
}

void Checkpoint::State::read_all(std::string_view kind, const model::Layout& layout,
                                 std::span<float> flat) const {
    require(static_cast<std::int64_t>(flat.size()) >= layout.size, ErrorCode::internal,
            "a range of {} values for a layout of {}", flat.size(), layout.size);
    const std::vector<std::string> faults = layout_faults(manifest, kind, layout);
    require(faults.empty(), ErrorCode::bad_data, "{} does not fit the model:\n  {}", directory.string(),
            fmt::join(faults, "\n  "));
    for (const model::GlobalTensor& tensor : layout.tensors) {
        read(kind, tensor.name,
             flat.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.count())));
    }
}

Checkpoint::Checkpoint(std::unique_ptr<State> opened) : opened_(std::move(opened)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const fs::path& directory, Check check) {
    auto opened = std::make_unique<State>();
    std::vector<std::string> faults = opened->open(directory, check);
    // A damaged file may damage thousands of tensors; `checkpoint verify` lists them all.
    constexpr std::size_t kShown = 10;
    if (faults.size() > kShown) {
        const std::size_t more = faults.size() - kShown;
        faults.resize(kShown);
        faults.push_back(fmt::format("and {} more; `longhaul checkpoint verify` lists all", more));
    }
    require(faults.empty(), ErrorCode::bad_data, "the checkpoint {} can't be used:\n  {}", directory.string(),
            fmt::join(faults, "\n  "));
    return Checkpoint(std::move(opened));
}

std::vector<std::string> verify(const fs::path& directory) {
    return Checkpoint::faults(directory, Check::hashes);
}

std::vector<std::string> Checkpoint::faults(const fs::path& directory, Check check) {
    return State().open(directory, check);
}

const fs::path& Checkpoint::directory() const {
    return opened_->directory;
}
const Manifest& Checkpoint::manifest() const {
    return opened_->manifest;
}
const TrainingState& Checkpoint::state() const {
    return opened_->manifest.state;
}
const SpecialTokens& Checkpoint::special_tokens() const {
    return opened_->manifest.special_tokens;
}
const std::string& Checkpoint::config_toml() const {
    return opened_->manifest.config_toml;
}

spec::Run Checkpoint::run() const {
    return spec::parse_config(config_toml(), (directory() / kManifestName).string(), {});
}

bool Checkpoint::has_optimizer() const {
    const auto& tensors = manifest().tensors;
    return std::any_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.kind != kWeightKind; });
}

void Checkpoint::read_weight(std::string_view name, std::span<float> out) const {
    opened_->read(kWeightKind, name, out);
}

void Checkpoint::read_optimizer(std::string_view kind, std::string_view name, std::span<float> out) const {
    opened_->read(kind, name, out);
}

void Checkpoint::read_weights(const model::Layout& layout, std::span<float> flat) const {
    opened_->read_all(kWeightKind, layout, flat);
}

void Checkpoint::read_optimizer(std::string_view kind, const model::Layout& layout,
                                std::span<float> flat) const {
    opened_->read_all(kind, layout, flat);
}

std::vector<fs::path> Checkpoint::tokenizer_files() const {
    std::vector<fs::path> files;
    for (const StoredFile& file : manifest().files) {
        if (file.name.starts_with("tokenizer/")) files.push_back(directory() / file.name);
    }
    return files;
}

std::optional<fs::path> Checkpoint::tokenizer() const {
    const std::vector<fs::path> files = tokenizer_files();
    // In a Hugging Face folder other .json files stand beside the one that matters.
    for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
        for (const fs::path& file : files) {
            if (file.filename() == name) return file;
        }
    }
    for (const fs::path& file : files) {
        if (file.extension() == ".json" || file.extension() == ".model") return file;
    }
    return std::nullopt;
}

}  // namespace longhaul::checkpoint
