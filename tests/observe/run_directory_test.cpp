// The run directory: one trainer at a time, whichever process holds it.
#include "observe/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/error.h"
#include "data/temp_folder.h"

namespace longhaul::observe {
namespace {

using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& path) {
    try {
        (void)RunDirectory::create(path);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_config);
        return error.what();
    }
    return "";
}

TEST(RunDirectory, IsMadeWithItsParents) {
    const TempFolder folder;
    const auto run = RunDirectory::create(folder / "a/b/run");
    EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/run/logs"));
    EXPECT_EQ(run.root(), folder / "a/b/run");
    EXPECT_EQ(run.config(), folder / "a/b/run/config.toml");
    EXPECT_EQ(run.metrics(), folder / "a/b/run/metrics.jsonl");
    EXPECT_EQ(run.events(), folder / "a/b/run/events.jsonl");
    EXPECT_EQ(run.log(3), folder / "a/b/run/logs/rank-00003.log");
    // The first save makes it: an empty one would be an error at the next start.
    EXPECT_FALSE(std::filesystem::exists(run.checkpoints()));
}

TEST(RunDirectory, SecondOpenerIsToldWhoHoldsIt) {
    const TempFolder folder;
    std::optional<RunDirectory> first = RunDirectory::create(folder / "run");
    EXPECT_THAT(refusal(folder / "run"), AllOf(HasSubstr(folder / "run"),
                                               HasSubstr(fmt::format("in use by process {};", ::getpid()))));
    first.reset();
    EXPECT_EQ(refusal(folder / "run"), "");
}

TEST(RunDirectory, MovingKeepsTheLock) {
    const TempFolder folder;
    RunDirectory first = RunDirectory::create(folder / "run");
    const RunDirectory second = std::move(first);
    EXPECT_THAT(refusal(folder / "run"), HasSubstr("in use"));
}

// The other process ends without a word, as by kill -9: the system gives the lock back.
TEST(RunDirectory, LockOfAnotherProcessHoldsUntilItEnds) {
    const TempFolder folder;
    std::array<int, 2> ready{};
    std::array<int, 2> done{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    ASSERT_EQ(::pipe(done.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::close(done[1]);
        const auto run = RunDirectory::create(folder / "run");
        char byte = 'r';
        if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
        (void)!::read(done[0], &byte, 1);
        ::_exit(0);
    }
    ::close(ready[1]);
    ::close(done[0]);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_THAT(refusal(folder / "run"), HasSubstr(fmt::format("in use by process {};", child)));
    ::close(done[1]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(ready[0]);
    EXPECT_EQ(refusal(folder / "run"), "");
}

TEST(RunDirectory, SaysWhyItCannotBeMade) {
    const TempFolder folder;
    folder.write("file", "x");
    EXPECT_THAT(refusal(folder / "file"),
                AllOf(HasSubstr("cannot make the run directory"), HasSubstr(folder / "file")));
    EXPECT_THAT(refusal(folder / "file/run"), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace longhaul::observe
