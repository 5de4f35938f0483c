// Any bytes either make a tokenizer, whose ids then decode, or are an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "data/bpe_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const longhaul::data::BpeTokenizer tokenizer(
            std::string_view(reinterpret_cast<const char*>(data), size));
        const auto ids = tokenizer.encode("a b\xFF the 123 caf\xC3\xA9  <|endoftext|>\n");
        (void)tokenizer.decode(ids);
    } catch (const longhaul::Error&) {
    }
    return 0;
}
