// Fields of a tokenizer.json, with errors that name the field and what it should be.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace longhaul::data {

using Json = nlohmann::json;

// The field, or null where it is left out.
[[nodiscard]] inline const Json& field(const Json& object, const char* key) {
    static const Json none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

// `where` is the object's name in the file, such as "model" or "added_tokens[3]".
[[nodiscard]] inline std::string string_field(const Json& object, const char* key, const std::string& where) {
    const Json& value = field(object, key);
    require(value.is_string(), ErrorCode::bad_data, "{}.{} is not a string", where, key);
    return value.get<std::string>();
}

[[nodiscard]] inline bool bool_field(const Json& object, const char* key, bool otherwise,
                                     const std::string& where) {
    const Json& value = field(object, key);
    if (value.is_null()) return otherwise;
    require(value.is_boolean(), ErrorCode::bad_data, "{}.{} is neither true nor false", where, key);
    return value.get<bool>();
}

[[nodiscard]] inline std::int64_t int_field(const Json& object, const char* key, std::int64_t otherwise,
                                            const std::string& where) {
    const Json& value = field(object, key);
    if (value.is_null()) return otherwise;
    require(value.is_number_integer(), ErrorCode::bad_data, "{}.{} is not a whole number", where, key);
    return value.get<std::int64_t>();
}

// The "type" of a part of the pipeline.
[[nodiscard]] inline std::string type_of(const Json& part, const std::string& where) {
    require(part.is_object(), ErrorCode::bad_data, "{} is not an object", where);
    return string_field(part, "type", where);
}

// Calls visit(part, type, where) for a part, or for each one of a "Sequence" under `list`, in order. Nothing
// for null.
template <typename Visit>
void for_parts(const Json& part, const char* list, const std::string& where, const Visit& visit,
               int depth = 0) {
    if (part.is_null()) return;
    require(depth < 8, ErrorCode::bad_data, "{}: sequences within sequences, too deep", where);
    const std::string type = type_of(part, where);
    if (type != "Sequence") {
        visit(part, type, where);
        return;
    }
    const Json& parts = field(part, list);
    require(parts.is_array(), ErrorCode::bad_data, "{}.{} is not a list", where, list);
    for (std::size_t i = 0; i < parts.size(); ++i)
        for_parts(parts[i], list, fmt::format("{}.{}[{}]", where, list, i), visit, depth + 1);
}

// The "pattern" of a part: {"String": s}, in old files the bare text, or {"Regex": r}.
[[nodiscard]] bool has_literal_pattern(const Json& part);
// Of a literal one the text. Error bad_data for another.
[[nodiscard]] std::string literal_pattern(const Json& part, const std::string& where);
// As a regular expression, whichever it is.
[[nodiscard]] std::string pattern_field(const Json& part, const std::string& where);

}  // namespace longhaul::data
