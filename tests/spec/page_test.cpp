// docs/configuration.md is what the program says; `make golden-docs` writes it anew.
#include <gtest/gtest.h>

#include "base/file.h"
#include "spec/options.h"

namespace longhaul::spec {
namespace {

TEST(Page, ConfigurationIsCurrent) {
    EXPECT_EQ(read_file(LONGHAUL_SOURCE_DIR "/docs/configuration.md"), options_markdown())
        << "run `make golden-docs`: the list of options changed";
}

}  // namespace
}  // namespace longhaul::spec
