// Tables for people: units and alignment.
#include "observe/summary.h"

#include <gtest/gtest.h>

namespace longhaul::observe {

TEST(Summary, BytesInTheUnitThatFits) {
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1024), "1.0 KiB");
    EXPECT_EQ(human_bytes(3U << 19U), "1.5 MiB");
    EXPECT_EQ(human_bytes(std::size_t{16} << 30U), "16.00 GiB");
    EXPECT_EQ(human_bytes((std::size_t{32} << 30U) / 10), "3.20 GiB");
}

TEST(Summary, ColumnsAreAligned) {
    EXPECT_EQ(table({{"a", "1"}, {"longer", "100"}}), "  a         1\n  longer  100\n");
    EXPECT_EQ(table({}), "");
}

TEST(Summary, MemoryEndsWithTheSum) {
    EXPECT_EQ(memory_table({{"weights", 2048}, {"activations", 1024}}),
              "  weights      2.0 KiB\n  activations  1.0 KiB\n  total        3.0 KiB\n");
    EXPECT_EQ(memory_table({}), "  total  0 B\n");
}

}  // namespace longhaul::observe
