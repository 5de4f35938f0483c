// JSON form of the metadata.
#include "data/dataset_meta.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace longhaul::data {

std::string to_json(const DatasetMeta& meta) {
    nlohmann::ordered_json json;
    json["format"] = 1;
    json["role"] = meta.role;
    json["documents"] = meta.documents;
    json["tokens"] = meta.tokens;
    json["text_bytes"] = meta.text_bytes;
    json["tokenizer"] = meta.tokenizer;
    json["tokenizer_fingerprint"] = hash_hex(meta.tokenizer_fingerprint);
    json["vocab"] = meta.vocab;
    json["end_of_document"] = meta.end_of_document ? nlohmann::ordered_json(*meta.end_of_document) : nullptr;
    json["sources"] = meta.sources;
    // File names need not be UTF-8.
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::optional<DatasetMeta> read_meta(const IndexedDataset& dataset) {
    const std::string path = dataset.prefix() + ".meta.json";
    if (!std::filesystem::exists(path)) return std::nullopt;
    DatasetMeta meta;
    try {
        const nlohmann::json json = nlohmann::json::parse(read_file(path));
        meta.role = json.at("role");
        meta.documents = json.at("documents");
        meta.tokens = json.at("tokens");
        meta.text_bytes = json.at("text_bytes");
        meta.tokenizer = json.at("tokenizer");
        const std::string hex = json.at("tokenizer_fingerprint");
        const auto [end, error] =
            std::from_chars(hex.data(), hex.data() + hex.size(), meta.tokenizer_fingerprint, 16);
        require(error == std::errc() && end == hex.data() + hex.size(), ErrorCode::bad_data,
                "{}: tokenizer_fingerprint \"{}\" is no hexadecimal number", path, hex);
        meta.vocab = json.at("vocab");
        if (!json.at("end_of_document").is_null())
            meta.end_of_document = json.at("end_of_document").get<std::int64_t>();
        meta.sources = json.at("sources").get<std::vector<std::string>>();
    } catch (const nlohmann::json::exception& error) {
        fail(ErrorCode::bad_data, "{}: {}; it describes the data set only, so it may be deleted", path,
             error.what());
    }
    if (meta.documents != dataset.index().documents() || meta.tokens != dataset.index().tokens())
        return std::nullopt;
    return meta;
}

}  // namespace longhaul::data
