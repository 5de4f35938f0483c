// Patterns of tokenizer.json.
#include "data/json_fields.h"

#include "data/regex.h"

namespace longhaul::data {

bool has_literal_pattern(const Json& part) {
    const Json& pattern = field(part, "pattern");
    return pattern.is_string() || (pattern.is_object() && pattern.contains("String"));
}

std::string literal_pattern(const Json& part, const std::string& where) {
    const Json& pattern = field(part, "pattern");
    return pattern.is_object() ? string_field(pattern, "String", where + ".pattern")
                               : string_field(part, "pattern", where);
}

std::string pattern_field(const Json& part, const std::string& where) {
    if (has_literal_pattern(part)) return Regex::quoted(literal_pattern(part, where));
    const Json& pattern = field(part, "pattern");
    require(pattern.is_object(), ErrorCode::bad_data, "{}.pattern is not an object", where);
    return string_field(pattern, "Regex", where + ".pattern");
}

}  // namespace longhaul::data
