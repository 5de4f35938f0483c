// Feeds arbitrary bytes to the reader of .idx files: the first two are the size of the .bin file, the rest
// the index. What is accepted must be readable to its last token.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "data/indexed_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    std::uint16_t bin_bytes = 0;
    std::memcpy(&bin_bytes, data, 2);
    const std::vector<std::byte> tokens(bin_bytes, std::byte{1});
    // A copy, so that a read past its end is seen.
    const std::vector<std::uint8_t> index(data + 2, data + size);
    try {
        const longhaul::data::IndexedDataset dataset(std::as_bytes(std::span(index)), tokens, "fuzz");
        std::int64_t seen = 0;
        for (std::int64_t d = 0; d < dataset.index().documents(); ++d)
            seen += static_cast<std::int64_t>(dataset.document(d).size());
        if (seen != dataset.index().tokens()) __builtin_trap();
        std::vector<std::int32_t> all(static_cast<std::size_t>(seen));
        dataset.read(0, all);
        if (seen > 0) (void)dataset.locate(seen - 1);
    } catch (const longhaul::Error& error) {
        if (error.code() != longhaul::ErrorCode::bad_data) throw;
    }
    return 0;
}
