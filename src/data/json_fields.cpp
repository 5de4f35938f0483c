// Patterns of tokenizer.json.
#include "data/json_fields.h"

#include "data/regex.h"

namespace longhaul::data {

std::string pattern_field(const Json& part, const std::string& where) {
    const Json& pattern = field(part, "pattern");
    // Old files have the literal text itself.
    if (pattern.is_string()) return Regex::quoted(pattern.get_ref<const std::string&>());
    require(pattern.is_object(), ErrorCode::bad_data, "{}.pattern is not an object", where);
    if (pattern.contains("String")) return Regex::quoted(string_field(pattern, "String", where + ".pattern"));
    return string_field(pattern, "Regex", where + ".pattern");
}

}  // namespace longhaul::data
