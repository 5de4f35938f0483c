// Alignment and units.
#include "observe/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace longhaul::observe {

std::string human_bytes(std::size_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes >= (std::size_t{1} << 30U)) return fmt::format("{:.2f} GiB", value / 0x1p30);
    if (bytes >= (std::size_t{1} << 20U)) return fmt::format("{:.1f} MiB", value / 0x1p20);
    if (bytes >= (std::size_t{1} << 10U)) return fmt::format("{:.1f} KiB", value / 0x1p10);
    return fmt::format("{} B", bytes);
}

std::string table(const std::vector<TableRow>& rows) {
    std::size_t names = 0;
    std::size_t values = 0;
    for (const TableRow& row : rows) {
        names = std::max(names, row.name.size());
        values = std::max(values, row.value.size());
    }
    std::string text;
    for (const TableRow& row : rows)
        text += fmt::format("  {:<{}}  {:>{}}\n", row.name, names, row.value, values);
    return text;
}

std::string memory_table(const std::vector<MemoryRow>& rows) {
    std::vector<TableRow> lines;
    std::size_t total = 0;
    for (const MemoryRow& row : rows) {
        lines.push_back({row.name, human_bytes(row.bytes)});
        total += row.bytes;
    }
    lines.push_back({"total", human_bytes(total)});
    return table(lines);
}

}  // namespace longhaul::observe
