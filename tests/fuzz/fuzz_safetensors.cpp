// Feeds bytes to the safetensors reader and reads every tensor that it lets through. Only longhaul::Error may
// come out.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using longhaul::checkpoint::SafetensorsReader;
    try {
        const SafetensorsReader reader(std::as_bytes(std::span(data, size)), "fuzz");
        std::vector<float> values;
        for (const auto& entry : reader.entries()) {
            if (reader.find(entry.name) == nullptr || reader.bytes(entry).size() != entry.end - entry.begin)
                __builtin_trap();
            if (!entry.is_float()) continue;
            // A float tensor's size was checked against the data, so this is no allocation that the input
            // chooses.
            values.resize(static_cast<std::size_t>(entry.count()));
            reader.read_float(entry, values);
        }
    } catch (const longhaul::Error&) {
    }
    return 0;
}
