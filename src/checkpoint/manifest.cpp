// Manifest to JSON and back; unsigned 64-bit values are hexadecimal text, which every JSON reader keeps
// exactly.
#include "checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "base/hash.h"

namespace longhaul::checkpoint {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "longhaul checkpoint";
// The last line of the file is this key with the hash of all bytes before the line.
constexpr std::string_view kHashLine = "  \"manifest_xxh3\": \"";
constexpr std::string_view kHashEnd = "\"\n}\n";

[[noreturn]] void damaged(const std::string& file, const std::string& what) {
    fail(ErrorCode::bad_data, "{}: {}", file, what);
}

// Reads one object of the manifest; a missing or mistyped field is an error that names it.
class Fields {
public:
    Fields(const Json& object, const std::string& file, std::string where)
        : object_(object), file_(file), where_(std::move(where)) {
        if (!object.is_object()) damaged(file_, where_ + " is not an object");
    }

    [[nodiscard]] const Json& at(const char* key) const {
        const auto found = object_.find(key);
        if (found == object_.end()) wrong(key, "is missing");
        return *found;
    }
    [[nodiscard]] std::string text(const char* key) const {
        if (!at(key).is_string()) wrong(key, "is not a string");
        return at(key).get<std::string>();
    }
    [[nodiscard]] std::int64_t integer(const char* key) const { return whole(at(key), key); }
    [[nodiscard]] std::uint64_t hex(const char* key) const {
        const std::string digits = text(key);
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 16 || error != std::errc() || end != digits.data() + digits.size())
            wrong(key, "is not 16 hexadecimal digits");
        return value;
    }
    [[nodiscard]] std::vector<std::int64_t> integers(const char* key) const {
        std::vector<std::int64_t> values;
        for (const Json& value : list(key)) values.push_back(whole(value, key));
        return values;
    }
    [[nodiscard]] const Json& list(const char* key) const {
        if (!at(key).is_array()) wrong(key, "is not a list");
        return at(key);
    }

private:
    [[noreturn]] void wrong(const char* key, const char* what) const {
        damaged(file_, fmt::format("{}{}{} {}", where_, where_.empty() ? "" : ".", key, what));
    }
    [[nodiscard]] std::int64_t whole(const Json& value, const char* key) const {
        if (!value.is_number_integer() ||
            (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())) ||
            value.get<std::int64_t>() < 0)
            wrong(key, "is not a whole number");
        return value.get<std::int64_t>();
    }
    const Json& object_;
    const std::string& file_;
    std::string where_;
};

Json state_json(const TrainingState& s) {
    Json json;
    json["step"] = s.step;
    json["updates"] = s.updates;
    json["samples"] = s.samples;
    json["tokens"] = s.tokens;
    json["bad_steps_total"] = s.bad_steps_total;
    json["bad_steps_in_row"] = s.bad_steps_in_row;
    json["data_fingerprint"] = hash_hex(s.data_fingerprint);
    json["tokenizer_fingerprint"] = hash_hex(s.tokenizer_fingerprint);
    // JSON has no infinity: null is "none yet".
    json["best_loss"] = std::isfinite(s.best_loss) ? Json(s.best_loss) : Json(nullptr);
    return json;
}

TrainingState parse_state(const Json& json, const std::string& file) {
    const Fields fields(json, file, "state");
    TrainingState s;
    s.step = fields.integer("step");
    s.updates = fields.integer("updates");
    s.samples = fields.integer("samples");
    s.tokens = fields.integer("tokens");
    s.bad_steps_total = fields.integer("bad_steps_total");
    s.bad_steps_in_row = fields.integer("bad_steps_in_row");
    s.data_fingerprint = fields.hex("data_fingerprint");
    s.tokenizer_fingerprint = fields.hex("tokenizer_fingerprint");
    const Json& best = fields.at("best_loss");
    if (best.is_number()) {
        s.best_loss = best.get<double>();
    } else if (!best.is_null()) {
        damaged(file, "state.best_loss is neither a number nor null");
    }
    return s;
}

Json tensor_json(const StoredTensor& tensor) {
    Json json;
    json["kind"] = tensor.kind;
    json["name"] = tensor.name;
    json["dtype"] = tensor.dtype;
    json["shape"] = tensor.shape;
    json["slices"] = Json::array();
    for (const Slice& slice : tensor.slices) {
        Json part;
        part["file"] = slice.file;
        part["key"] = slice.key;
        part["start"] = slice.start;
        part["shape"] = slice.shape;
        part["xxh3"] = hash_hex(slice.hash);
        json["slices"].push_back(std::move(part));
    }
    return json;
}

StoredTensor parse_tensor(const Json& json, const std::string& file) {
    const Fields fields(json, file, "tensors");
    StoredTensor tensor{
        fields.text("kind"), fields.text("name"), fields.text("dtype"), fields.integers("shape"), {}};
    std::int64_t count = 1;
    for (const std::int64_t extent : tensor.shape) {
        if (__builtin_mul_overflow(count, extent, &count))
            damaged(file, fmt::format("tensor {} has too many elements", tensor.name));
    }
    for (const Json& part : fields.list("slices")) {
        const Fields slice(part, file, "slices");
        tensor.slices.push_back({slice.text("file"), slice.text("key"), slice.integers("start"),
                                 slice.integers("shape"), slice.hex("xxh3")});
    }
    const bool one_whole = tensor.slices.size() == 1 && tensor.slices.front().shape == tensor.shape &&
                           tensor.slices.front().start == std::vector<std::int64_t>(tensor.shape.size(), 0);
    if (!one_whole)
        damaged(file,
                fmt::format("tensor {} is stored in slices, which this version can't join", tensor.name));
    return tensor;
}

bool stays_inside(const std::string& name) {
    const std::filesystem::path path(name);
    if (name.empty() || path.is_absolute()) return false;
    return std::none_of(path.begin(), path.end(),
                        [](const auto& part) { return part.empty() || part == ".." || part == "."; });
}

void check_names(const Manifest& manifest, const std::string& file) {
    std::set<std::string> files;
    for (const StoredFile& f : manifest.files) {
        if (!stays_inside(f.name))
            damaged(file, fmt::format("the file name '{}' leads out of the directory", f.name));
        if (!files.insert(f.name).second) damaged(file, fmt::format("file {} is listed twice", f.name));
    }
    std::set<std::pair<std::string, std::string>> tensors;
    for (const StoredTensor& tensor : manifest.tensors) {
        if (!tensors.emplace(tensor.kind, tensor.name).second)
            damaged(file, fmt::format("tensor {} ({}) is listed twice", tensor.name, tensor.kind));
        for (const Slice& slice : tensor.slices) {
            if (!files.contains(slice.file))
                damaged(file, fmt::format("tensor {} is in {}, which is not in the list of files",
                                          tensor.name, slice.file));
        }
    }
}

// Everything before the hash line, whose hash was found right.
std::string_view checked_body(std::string_view text, const std::string& file) {
    if (text.empty()) damaged(file, "it is empty: the file was cut short");
    const std::size_t at = text.rfind(kHashLine);
    const std::size_t tail = kHashLine.size() + 16 + kHashEnd.size();
    if (at == std::string_view::npos || text.size() - at != tail || !text.ends_with(kHashEnd))
        damaged(file,
                "it does not end with its hash: it is cut short, damaged, or no manifest of this program");
    const std::string_view body = text.substr(0, at);
    if (text.substr(at + kHashLine.size(), 16) != hash_hex(hash64(body)))
        damaged(file, "its hash is not that of its content: it was damaged or edited");
    return body;
}

}  // namespace

const StoredTensor* Manifest::find(std::string_view kind, std::string_view name) const {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const StoredTensor& tensor) {
        return tensor.kind == kind && tensor.name == name;
    });
    return found == tensors.end() ? nullptr : &*found;
}

std::int64_t Manifest::parameters() const {
    std::int64_t total = 0;
    for (const StoredTensor& tensor : tensors) {
        if (tensor.kind != kWeightKind) continue;
        std::int64_t count = 1;
        for (const std::int64_t extent : tensor.shape) count *= extent;
        total += count;
    }
    return total;
}

std::string manifest_text(const Manifest& manifest) {
    Json json;
    json["format"] = kFormat;
    json["version"] = kManifestVersion;
    json["state"] = state_json(manifest.state);
    json["special_tokens"]["bos"] =
        manifest.special_tokens.bos ? Json(*manifest.special_tokens.bos) : Json(nullptr);
    json["special_tokens"]["eos"] = manifest.special_tokens.eos;
    json["config"] = manifest.config_toml;
    json["files"] = Json::array();
    for (const StoredFile& f : manifest.files) {
        Json file;
        file["name"] = f.name;
        file["bytes"] = f.bytes;
        file["xxh3"] = hash_hex(f.hash);
        json["files"].push_back(std::move(file));
    }
    json["tensors"] = Json::array();
    for (const StoredTensor& tensor : manifest.tensors) json["tensors"].push_back(tensor_json(tensor));
    std::string text = json.dump(2);
    text.resize(text.size() - 2);  // "\n}"
    text += ",\n";
    const std::string hash = hash_hex(hash64(text));
    text += kHashLine;
    text += hash;
    text += kHashEnd;
    return text;
}

Manifest parse_manifest(std::string_view text, const std::string& name) {
    (void)checked_body(text, name);
    Json json;
    try {
        json = Json::parse(text);
    } catch (const Json::exception&) {
        damaged(name, "it is not JSON");
    }
    const Fields fields(json, name, "");
    if (fields.text("format") != kFormat) damaged(name, "it is not the manifest of a checkpoint");
    if (fields.integer("version") != kManifestVersion) {
        damaged(name, fmt::format("it is of version {}; this program reads version {}",
                                  fields.integer("version"), kManifestVersion));
    }
    Manifest manifest;
    manifest.state = parse_state(fields.at("state"), name);
    const Fields special(fields.at("special_tokens"), name, "special_tokens");
    if (!special.at("bos").is_null()) manifest.special_tokens.bos = special.integer("bos");
    manifest.special_tokens.eos = special.integers("eos");
    manifest.config_toml = fields.text("config");
    for (const Json& item : fields.list("files")) {
        const Fields file(item, name, "files");
        manifest.files.push_back(
            {file.text("name"), narrow<std::size_t>(file.integer("bytes")), file.hex("xxh3")});
    }
    for (const Json& item : fields.list("tensors")) manifest.tensors.push_back(parse_tensor(item, name));
    check_names(manifest, name);
    return manifest;
}

}  // namespace longhaul::checkpoint
