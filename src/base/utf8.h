// UTF-8: what outside text must be before it is written where only UTF-8 may stand.
#pragma once

#include <string_view>

namespace longhaul {

// Whether all of the text is UTF-8: no stray or missing continuation bytes, no overlong forms, no surrogates,
// nothing beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace longhaul
