// Plain-text tables for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace longhaul::observe {

// "512 B", "1.5 MiB", "3.20 GiB".
[[nodiscard]] std::string human_bytes(std::size_t bytes);

struct TableRow {
    std::string name;
    std::string value;
};
// Two aligned columns, each line indented by two spaces.
[[nodiscard]] std::string table(const std::vector<TableRow>& rows);

struct MemoryRow {
    std::string name;
    std::size_t bytes = 0;
};
// The rows and their sum.
[[nodiscard]] std::string memory_table(const std::vector<MemoryRow>& rows);

}  // namespace longhaul::observe
