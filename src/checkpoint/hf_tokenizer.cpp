// What other programs look for in a tokenizer's files: which they are, and the special tokens that they tell.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/hf_form.h"
#include "checkpoint/hugging_face.h"

namespace longhaul::checkpoint {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr const char* kFiles[] = {"tokenizer.json",    "tokenizer_config.json",
                                  "tokenizer.model",   "special_tokens_map.json",
                                  "added_tokens.json", "vocab.json",
                                  "merges.txt",        "generation_config.json"};

struct KnownPair {
    const char* bos;
    const char* eos;
};
// Of the common vocabularies, for tokenizers that come without tokenizer_config.json.
constexpr KnownPair kPairs[] = {{"<|endoftext|>", "<|endoftext|>"},
                                {"<s>", "</s>"},
                                {"<|begin_of_text|>", "<|end_of_text|>"},
                                {"<|begin_of_text|>", "<|eot_id|>"}};

// Null where the file is not among them, or is no JSON: special tokens are a courtesy, not a need.
Json read_json(const std::vector<fs::path>& files, const char* name) {
    for (const fs::path& file : files) {
        const bool only_json = std::string_view(name) == "tokenizer.json" && files.size() == 1;
        if (file.filename() != name && !(only_json && file.extension() == ".json")) continue;
        Json json = Json::parse(read_file(file), nullptr, false);
        return json.is_object() ? json : Json();
    }
    return {};
}

template <typename Visit>
void for_added_tokens(const Json& tokenizer, Visit visit) {
    const auto list = tokenizer.find("added_tokens");
    if (list == tokenizer.end() || !list->is_array()) return;
    for (const Json& token : *list) {
        if (!token.is_object() || !token.contains("id") || !token["id"].is_number_unsigned()) continue;
        if (!token.contains("content") || !token["content"].is_string()) continue;
        visit(token["content"].get_ref<const std::string&>(), token["id"].get<std::int64_t>());
    }
}

std::optional<std::int64_t> id_of(const Json& tokenizer, std::string_view text) {
    std::optional<std::int64_t> found;
    for_added_tokens(tokenizer, [&](const std::string& content, std::int64_t id) {
        if (content == text) found = id;
    });
    return found;
}

// "eos_token" is a string, or an object with its content.
std::string token_of(const Json& config, const char* key) {
    if (!config.is_object() || !config.contains(key)) return "";
    const Json& value = config[key];
    if (value.is_string()) return value.get<std::string>();
    if (value.is_object() && value.contains("content") && value["content"].is_string())
        return value["content"].get<std::string>();
    return "";
}

}  // namespace

std::vector<fs::path> hf_tokenizer_files(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const char* name : kFiles) {
        if (fs::is_regular_file(directory / name, error)) files.push_back(directory / name);
    }
    return files;
}

SpecialTokens hf_special_tokens(const std::vector<fs::path>& files) {
    SpecialTokens special;
    const Json tokenizer = read_json(files, "tokenizer.json");
    const Json config = read_json(files, "tokenizer_config.json");
    if (!tokenizer.is_object()) return special;
    const std::string bos = token_of(config, "bos_token");
    const std::string eos = token_of(config, "eos_token");
    if (!bos.empty()) special.bos = id_of(tokenizer, bos);
    if (!eos.empty()) {
        if (const auto id = id_of(tokenizer, eos)) special.eos.push_back(*id);
    }
    if (special.bos || !special.eos.empty()) return special;
    for (const KnownPair& pair : kPairs) {
        const auto end = id_of(tokenizer, pair.eos);
        if (!end) continue;
        special.bos = id_of(tokenizer, pair.bos);
        special.eos.push_back(*end);
        break;
    }
    return special;
}

std::string hf_token_text(const std::vector<fs::path>& tokenizer_files, std::int64_t wanted) {
    std::string text;
    for_added_tokens(read_json(tokenizer_files, "tokenizer.json"),
                     [&](const std::string& content, std::int64_t id) {
                         if (id == wanted) text = content;
                     });
    return text;
}

}  // namespace longhaul::checkpoint
