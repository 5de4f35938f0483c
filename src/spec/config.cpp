// The reader: every key must be an option; what is wrong is collected, not thrown one at a time.
#include "spec/config.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "spec/options.h"
#include "spec/validate.h"

namespace longhaul::spec {

namespace {

// Edits (insert, delete, replace) that turn a into b: for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& names) {
    const auto nearest = std::min_element(names.begin(), names.end(), [&](const auto& x, const auto& y) {
        return distance(given, x) < distance(given, y);
    });
    if (nearest == names.end() || distance(given, *nearest) > std::max<std::size_t>(2, given.size() / 3))
        return "";
    return fmt::format("; did you mean {}?", *nearest);
}

class Reader {
public:
    Reader(Run& run, std::string name) : run_(run), name_(std::move(name)), options_(options(run)) {}

    void read(const toml::table& root, const std::string& where_prefix) {
        prefix_ = where_prefix;
        // The preset first, whatever its place: the other options of the section change it.
        if (!preset_given_) read_preset(root, where_prefix);
        for (const auto& [section, node] : root) {
            const toml::table* table = node.as_table();
            const std::string section_name(section.str());
            if (table == nullptr) {
                fault(node, fmt::format("{} stands outside of a section such as [train]", section_name));
                continue;
            }
            if (!known_section(section_name)) {
                fault(node, fmt::format("there is no section [{}]{}", section_name,
                                        did_you_mean(section_name, section_names())));
                continue;
            }
            for (const auto& [key, value] : *table) read_option(section_name, std::string(key.str()), value);
        }
    }

    // The model of model.preset, if it stands in `root`.
    void read_preset(const toml::table& root, const std::string& where_prefix) {
        prefix_ = where_prefix;
        if (const toml::node* preset = root.at_path("model.preset").node()) {
            preset_given_ = true;
            take_preset(*preset);
        }
    }

    [[nodiscard]] bool family_given() const { return family_given_; }
    [[nodiscard]] std::vector<std::string>& faults() { return faults_; }

private:
    void fault(const toml::node& node, const std::string& sentence) {
        const auto line = node.source().begin.line;
        if (!prefix_.empty()) {
            faults_.push_back(fmt::format("{}: {}", prefix_, sentence));
        } else if (line > 0) {
            faults_.push_back(fmt::format("{}:{}: {}", name_, line, sentence));
        } else {
            faults_.push_back(fmt::format("{}: {}", name_, sentence));
        }
    }

    [[nodiscard]] bool known_section(std::string_view section) const {
        return std::any_of(options_.begin(), options_.end(),
                           [&](const Option& o) { return o.section == section; });
    }
    [[nodiscard]] std::vector<std::string> section_names() const {
        std::vector<std::string> names;
        for (const Option& o : options_) {
            if (names.empty() || names.back() != o.section) names.emplace_back(o.section);
        }
        return names;
    }

    void take_preset(const toml::node& node) {
        std::vector<std::string> names;
        for (const Preset& preset : presets()) names.emplace_back(preset.name);
        const auto name = node.value<std::string>();
        const Preset* preset = name ? find_preset(*name) : nullptr;
        if (preset == nullptr) {
            fault(node, fmt::format("model.preset must be one of {}{}", fmt::join(names, ", "),
                                    name ? did_you_mean(*name, names) : ""));
            return;
        }
        run_.model = preset->model;
    }

    void read_option(const std::string& section, const std::string& key, const toml::node& value) {
        if (section == "model" && key == "preset") return;
        const auto option = std::find_if(options_.begin(), options_.end(), [&](const Option& o) {
            return o.section == section && o.key == key;
        });
        if (option == options_.end()) {
            std::vector<std::string> names;
            for (const Option& o : options_) {
                if (o.section == section) names.push_back(fmt::format("{}.{}", section, o.key));
            }
            fault(value, fmt::format("there is no option {}.{}{}", section, key,
                                     did_you_mean(section + "." + key, names)));
            return;
        }
        if (section == "model" && key == "family") family_given_ = true;
        const bool taken =
            std::visit([&](const auto& target) { return store(target, value); }, option->target);
        if (!taken) fault(value, fmt::format("{}.{} must be {}", section, key, domain_text(*option)));
    }

    static bool store(const IntegerOption& o, const toml::node& value) {
        const auto given = value.value_exact<std::int64_t>();
        if (!given || *given < o.least || *given > o.most) return false;
        *o.value = *given;
        return true;
    }
    static std::optional<double> real(const toml::node& value, double least, double most) {
        if (!value.is_number()) return std::nullopt;
        const auto given = value.value<double>();
        if (!given || !std::isfinite(*given) || *given < least || *given > most) return std::nullopt;
        return given;
    }
    static bool store(const RealOption& o, const toml::node& value) {
        const auto given = real(value, o.least, o.most);
        if (given) *o.value = *given;
        return given.has_value();
    }
    static bool store(const BoolOption& o, const toml::node& value) {
        const auto given = value.value_exact<bool>();
        if (given) *o.value = *given;
        return given.has_value();
    }
    static bool store(const TextOption& o, const toml::node& value) {
        const auto given = value.value_exact<std::string>();
        if (given) *o.value = *given;
        return given.has_value();
    }
    static bool store(const ChoiceOption& o, const toml::node& value) {
        const auto given = value.value_exact<std::string>();
        if (!given) return false;
        const auto found = std::find(o.names.begin(), o.names.end(), *given);
        if (found == o.names.end()) return false;
        o.set(static_cast<std::size_t>(found - o.names.begin()));
        return true;
    }
    static bool store(const PairOption& o, const toml::node& value) {
        const toml::array* array = value.as_array();
        if (array == nullptr || array->size() != 2) return false;
        const auto first = real((*array)[0], o.least, o.most);
        const auto second = real((*array)[1], o.least, o.most);
        if (!first || !second) return false;
        *o.first = *first;
        *o.second = *second;
        return true;
    }
    static bool store(const BlendOption& o, const toml::node& value) {
        std::vector<WeightedPrefix> parts;
        auto take = [&](const toml::node& node) {
            if (const auto text = node.value_exact<std::string>()) {
                parts.push_back({*text, 1.0});
                return !text->empty();
            }
            const toml::table* table = node.as_table();
            if (table == nullptr) return false;
            const auto prefix = (*table)["prefix"].value_exact<std::string>();
            const toml::node* weight_node = table->get("weight");
            const auto weight =
                weight_node == nullptr ? std::optional<double>(1.0) : real(*weight_node, 0, kMostWeight);
            if (!prefix || prefix->empty() || !weight || *weight <= 0 ||
                table->size() != (weight_node == nullptr ? 1U : 2U))
                return false;
            parts.push_back({*prefix, *weight});
            return true;
        };
        if (const toml::array* array = value.as_array()) {
            for (const toml::node& node : *array) {
                if (!take(node)) return false;
            }
        } else if (!take(value)) {
            return false;
        }
        *o.value = std::move(parts);
        return true;
    }

    static constexpr double kMostWeight = 1e18;
    Run& run_;
    std::string name_;
    std::string prefix_;
    std::vector<Option> options_;
    std::vector<std::string> faults_;
    bool preset_given_ = false;
    bool family_given_ = false;
};

// "section.key=value" as a document: the value as TOML, or as a plain string where it is no TOML (paths,
// names).
toml::table parse_override(const std::string& text) {
    const auto equals = text.find('=');
    const auto point = text.find('.');
    // What is not UTF-8 could not be read back from a resolved configuration.
    require(is_utf8(text), ErrorCode::bad_config, "--set {} is not UTF-8", text);
    require(equals != std::string::npos && point != std::string::npos && point < equals && point > 0 &&
                point + 1 < equals,
            ErrorCode::bad_config, "--set {} is not of the form section.key=value", text);
    const std::string section = text.substr(0, point);
    const std::string key = text.substr(point + 1, equals - point - 1);
    const std::string value = text.substr(equals + 1);
    toml::table inner;
    try {
        const toml::table parsed = toml::parse("value = " + value);
        require(parsed.size() == 1, ErrorCode::bad_config, "--set {} holds more than one value", text);
        parsed.get("value")->visit([&](const auto& node) { inner.insert_or_assign(key, node); });
    } catch (const toml::parse_error&) {
        inner.insert_or_assign(key, value);
    }
    toml::table root;
    root.insert_or_assign(section, std::move(inner));
    return root;
}

}  // namespace

Family infer_family(const Model& m) {
    Model probe = m;
    probe.family = Family::gpt2;
    if (faults(probe).empty()) return Family::gpt2;
    if (m.parallel_block) return Family::phi;
    if (m.norm == Norm::rmsnorm && !m.bias && m.qkv_bias) return Family::qwen2;
    if (m.window > 0) return Family::mistral;
    return Family::llama;
}

Run parse_config(std::string_view text, const std::string& name, std::span<const std::string> overrides) {
    Run run;
    toml::table root;
    try {
        root = toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        fail(ErrorCode::bad_config, "{}:{}: {}", name, error.source().begin.line, error.description());
    }
    std::vector<toml::table> sets;
    sets.reserve(overrides.size());
    for (const std::string& set : overrides) sets.push_back(parse_override(set));
    Reader reader(run, name);
    // A preset given by --set replaces the file's before the file's other options are read.
    for (std::size_t i = 0; i < sets.size(); ++i) reader.read_preset(sets[i], "--set " + overrides[i]);
    reader.read(root, "");
    for (std::size_t i = 0; i < sets.size(); ++i) reader.read(sets[i], "--set " + overrides[i]);
    if (!reader.family_given()) run.model.family = infer_family(run.model);

    std::vector<std::string> all = std::move(reader.faults());
    for (const std::string& sentence : faults(run)) all.push_back(fmt::format("{}: {}", name, sentence));
    if (!all.empty()) {
        fail(ErrorCode::bad_config, "{} fault{} in the configuration:\n  {}", all.size(),
             all.size() == 1 ? "" : "s", fmt::join(all, "\n  "));
    }
    return run;
}

Run load_config(const std::filesystem::path& path, std::span<const std::string> overrides) {
    std::string text;
    try {
        text = read_file(path);
    } catch (const Error& error) {
        fail(ErrorCode::bad_config, "{}", error.what());
    }
    return parse_config(text, path.string(), overrides);
}

std::string to_toml(const Run& run) {
    Run copy = run;
    std::string text = "# Resolved configuration: every default spelled out.\n";
    std::string_view section;
    for (const Option& option : options(copy)) {
        if (option.section != section) {
            section = option.section;
            text += fmt::format("\n[{}]\n", section);
        }
        text += fmt::format("{} = {}\n", option.key, value_text(option));
    }
    return text;
}

}  // namespace longhaul::spec
