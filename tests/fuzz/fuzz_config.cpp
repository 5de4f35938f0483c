// Feeds bytes to the reader of configurations. Either a configuration comes out, which must read back from
// its resolved form unchanged, or an Error bad_config. Bytes behind the first NUL are a --set override.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/config.h"
#include "spec/options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace longhaul::spec;
    // A copy, so that a read past its end is seen.
    const std::string input(reinterpret_cast<const char*>(data), size);
    const std::size_t zero = input.find('\0');
    std::vector<std::string> overrides;
    if (zero != std::string::npos) overrides.push_back(input.substr(zero + 1));
    Run run;
    try {
        run = parse_config(input.substr(0, zero), "fuzz", overrides);
    } catch (const longhaul::Error& error) {
        if (error.code() != longhaul::ErrorCode::bad_config) throw;
        return 0;
    }
    const std::string resolved = to_toml(run);
    if (to_toml(parse_config(resolved, "resolved", {})) != resolved) __builtin_trap();
    return 0;
}
