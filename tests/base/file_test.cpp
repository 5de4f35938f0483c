// Files: whole reads, maps, and writes that are complete or not there.
#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <numeric>

#include "base/error.h"
#include "data/temp_folder.h"

namespace longhaul {
namespace {

using test::message_of;
using test::TempFolder;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ReadFile, GivesEveryByte) {
    const TempFolder folder;
    std::string content(300000, '\0');
    std::iota(content.begin(), content.end(), '\0');
    EXPECT_EQ(read_file(folder.write("a", content)), content);
    EXPECT_EQ(read_file(folder.write("empty", "")), "");
}

TEST(ReadFile, NamesPathAndReason) {
    const TempFolder folder;
    EXPECT_THAT(message_of([&] { (void)read_file(folder / "missing"); }),
                AllOf(HasSubstr(folder / "missing"), HasSubstr("No such file")));
    std::filesystem::create_directory(folder / "d");
    EXPECT_THAT(message_of([&] { (void)read_file(folder / "d"); }), HasSubstr("is not a regular file"));
}

TEST(MappedFile, SeesTheFile) {
    const TempFolder folder;
    MappedFile map(folder.write("a", "some bytes"));
    EXPECT_EQ(text_of(map.bytes()), "some bytes");
    MappedFile moved(std::move(map));
    EXPECT_EQ(text_of(moved.bytes()), "some bytes");
    MappedFile assigned;
    assigned = std::move(moved);
    EXPECT_EQ(text_of(assigned.bytes()), "some bytes");
    EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
    EXPECT_TRUE(MappedFile().bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
    const TempFolder folder;
    EXPECT_THAT(message_of([&] { const MappedFile map(folder / "missing"); }),
                AllOf(HasSubstr(folder / "missing"), HasSubstr("No such file")));
    std::filesystem::create_directory(folder / "d");
    EXPECT_THAT(message_of([&] { const MappedFile map(folder / "d"); }), HasSubstr("is not a regular file"));
}

TEST(AtomicFile, AppearsAtCommitAndNotBefore) {
    const TempFolder folder;
    AtomicFile file(folder / "out");
    file.write("hello ");
    file.write("world");
    EXPECT_EQ(file.size(), 11U);
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    file.commit();
    EXPECT_EQ(read_file(folder / "out"), "hello world");
    EXPECT_THAT(folder.names(), testing::ElementsAre("out"));
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
    const TempFolder folder;
    {
        AtomicFile file(folder / "out");
        file.write(std::string(3U << 20U, 'x'));
    }
    EXPECT_THAT(folder.names(), testing::IsEmpty());
}

TEST(AtomicFile, KeepsTheOldFileWhereTheNewOneIsGivenUp) {
    const TempFolder folder;
    folder.write("out", "old");
    try {
        AtomicFile file(folder / "out");
        file.write("new");
        throw std::runtime_error("half way");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(read_file(folder / "out"), "old");
    EXPECT_THAT(folder.names(), testing::ElementsAre("out"));
}

TEST(AtomicFile, WritesAcrossItsBufferAndBackAtAnOffset) {
    const TempFolder folder;
    std::string expected;
    {
        AtomicFile file(folder / "out");
        for (int i = 0; i < 40; ++i) {
            const std::string piece(static_cast<std::size_t>(1) << (i % 22), static_cast<char>('a' + i % 26));
            file.write(piece);
            expected += piece;
        }
        file.write_at(5, bytes_of("HEADER"));
        expected.replace(5, 6, "HEADER");
        file.write("end");
        expected += "end";
        EXPECT_EQ(file.size(), expected.size());
        file.commit();
    }
    EXPECT_TRUE(read_file(folder / "out") == expected);
}

TEST(AtomicFile, WriteAtPastTheEndIsAnInternalError) {
    const TempFolder folder;
    AtomicFile file(folder / "out");
    file.write("12345");
    EXPECT_THAT(message_of([&] { file.write_at(3, bytes_of("abc")); }), HasSubstr("past the end"));
}

TEST(AtomicFile, NamesTheFolderThatIsMissing) {
    const TempFolder folder;
    EXPECT_THAT(message_of([&] { const AtomicFile file(folder / "no/out"); }),
                AllOf(HasSubstr(folder / "no"), HasSubstr("No such file")));
}

TEST(AtomicFile, TargetThatIsAFolderLeavesNothingBehind) {
    const TempFolder folder;
    std::filesystem::create_directory(folder / "d");
    folder.write("d/inside", "x");
    EXPECT_THAT(message_of([&] { write_file_atomic(folder / "d", "text"); }), HasSubstr(folder / "d"));
    EXPECT_THAT(folder.names(), testing::ElementsAre("d"));
}

// The limit on a file's size stands in for a full disk: both make write(2) fail in the middle.
TEST(AtomicFile, DiskThatTakesNoMoreLeavesNothing) {
    const TempFolder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1U << 20U, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message =
        message_of([&] { write_file_atomic(folder / "out", std::string(3U << 20U, 'x')); });
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_THAT(message, AllOf(HasSubstr("cannot write"), HasSubstr(folder / "out"), HasSubstr("too large")));
    EXPECT_THAT(folder.names(), testing::IsEmpty());
}

TEST(AtomicFile, MovedFileIsCommittedOnce) {
    const TempFolder folder;
    {
        AtomicFile first(folder / "out");
        first.write("text");
        AtomicFile second(std::move(first));
        second.commit();
    }
    EXPECT_EQ(read_file(folder / "out"), "text");
    EXPECT_THAT(folder.names(), testing::ElementsAre("out"));
}

// Two writers of one path in one process: whoever commits last wins, and neither sees the other's bytes.
TEST(AtomicFile, TwoWritersOfOnePathDoNotMix) {
    const TempFolder folder;
    AtomicFile first(folder / "out");
    AtomicFile second(folder / "out");
    first.write("first");
    second.write("the second");
    first.commit();
    EXPECT_EQ(read_file(folder / "out"), "first");
    second.commit();
    EXPECT_EQ(read_file(folder / "out"), "the second");
    EXPECT_THAT(folder.names(), testing::ElementsAre("out"));
}

TEST(FileDescriptor, ClosesOnceAndMoves) {
    const TempFolder folder;
    const std::string path = folder.write("a", "x");
    FileDescriptor first(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const int number = first.get();
    FileDescriptor second(std::move(first));
    EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): a moved one is empty
    EXPECT_EQ(second.get(), number);
    EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
    second.reset();
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST(SyncDirectory, NamesADirectoryThatIsNone) {
    const TempFolder folder;
    EXPECT_NO_THROW(sync_directory(folder / "."));
    EXPECT_THAT(message_of([&] { sync_directory(folder / "missing"); }), HasSubstr(folder / "missing"));
}

}  // namespace
}  // namespace longhaul
