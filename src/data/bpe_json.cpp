// A trained encoding in the form of Hugging Face's tokenizers.
#include <nlohmann/json.hpp>

#include "data/bpe_trainer.h"
#include "data/byte_alphabet.h"
#include "data/pretokenizer.h"

namespace longhaul::data {

namespace {

using Ordered = nlohmann::ordered_json;

Ordered byte_level(bool prefix_space, bool use_regex) {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", prefix_space},
            {"trim_offsets", true},
            {"use_regex", use_regex}};
}

Ordered pre_tokenizer(const std::string& pattern) {
    if (pattern == kGpt2Pattern) return byte_level(false, true);
    const Ordered split{
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
    return {{"type", "Sequence"}, {"pretokenizers", Ordered::array({split, byte_level(false, false)})}};
}

}  // namespace

std::string tokenizer_json(const TrainedBpe& trained, const std::vector<std::string>& special_tokens,
                           const std::string& pattern) {
    Ordered added = Ordered::array();
    Ordered vocab = Ordered::object();
    // Thousands of keys that are all different: straight into the list beneath, as operator[] searches it
    // each time.
    auto& entries = vocab.get_ref<Ordered::object_t&>();
    std::int64_t id = 0;
    for (const std::string& token : special_tokens) {
        added.push_back({{"id", id},
                         {"content", token},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
        entries.emplace_back(token, id++);
    }
    const std::int64_t first = id;
    std::vector<std::string> spelled;
    for (const std::string& token : trained.tokens) spelled.push_back(spell_bytes(token));
    for (std::size_t t = 0; t < spelled.size(); ++t)
        entries.emplace_back(spelled[t], first + static_cast<std::int64_t>(t));
    Ordered merges = Ordered::array();
    for (const auto& [left, right] : trained.merges)
        merges.push_back(spelled[static_cast<std::size_t>(left)] + " " +
                         spelled[static_cast<std::size_t>(right)]);

    const Ordered model{{"type", "BPE"},
                        {"dropout", nullptr},
                        {"unk_token", nullptr},
                        {"continuing_subword_prefix", ""},
                        {"end_of_word_suffix", ""},
                        {"fuse_unk", false},
                        {"byte_fallback", false},
                        {"ignore_merges", false},
                        {"vocab", std::move(vocab)},
                        {"merges", std::move(merges)}};
    const Ordered document{{"version", "1.0"},
                           {"truncation", nullptr},
                           {"padding", nullptr},
                           {"added_tokens", std::move(added)},
                           {"normalizer", nullptr},
                           {"pre_tokenizer", pre_tokenizer(pattern)},
                           {"post_processor", byte_level(true, true)},
                           {"decoder", byte_level(true, true)},
                           {"model", model}};
    return document.dump(1) + "\n";
}

}  // namespace longhaul::data
