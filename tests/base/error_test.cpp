// Codes of errors, the exit statuses that they mean, and their sentences.
#include "base/error.h"

#include <gtest/gtest.h>

namespace longhaul {

TEST(Error, CodesDecideTheExitStatus) {
    EXPECT_EQ(exit_status(ErrorCode::bad_config), 2);
    EXPECT_EQ(exit_status(ErrorCode::bad_data), 3);
    EXPECT_EQ(exit_status(ErrorCode::training_failed), 4);
    EXPECT_EQ(exit_status(ErrorCode::internal), 4);
}

TEST(Error, FailCarriesCodeAndSentence) {
    try {
        fail(ErrorCode::bad_data, "{} holds {} tokens", "a.bin", 3);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_data);
        EXPECT_STREQ(error.what(), "a.bin holds 3 tokens");
        return;
    }
    FAIL() << "no error";
}

TEST(Error, RequireThrowsOnlyWhereTheConditionFails) {
    EXPECT_NO_THROW(require(true, ErrorCode::internal, "never"));
    EXPECT_THROW(require(false, ErrorCode::bad_config, "{}", 1), Error);
}

TEST(Error, BracesOfAnArgumentAreText) {
    try {
        fail(ErrorCode::bad_data, "{}", "{0} {x}");
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "{0} {x}");
    }
}

}  // namespace longhaul
