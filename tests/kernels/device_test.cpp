// Instruction sets: names, errors, and all other tests of this program under each set that the processor has.
#include "kernels/device.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>

#include "kernels/support.h"

namespace longhaul::kernels::test {

namespace {

constexpr const char* kVariable = "LONGHAUL_ISA";

ErrorCode code_of(const std::function<void()>& action, std::string* message = nullptr) {
    try {
        action();
    } catch (const Error& error) {
        if (message != nullptr) *message = error.what();
        return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::internal;
}

// Exit status of this program run again with these settings.
int run_again(const char* isa, const char* filter) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv(kVariable, isa, 1);
        ::unsetenv("GTEST_OUTPUT");
        const std::string argument = std::string("--gtest_filter=") + filter;
        ::execl("/proc/self/exe", "test_kernels", argument.c_str(), "--gtest_brief=1", nullptr);
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST(Device, NamesGoBothWays) {
    for (const Isa isa : {Isa::sse2, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx})
        EXPECT_EQ(parse_isa(name_of(isa)), isa);
    std::string message;
    EXPECT_EQ(code_of([] { (void)parse_isa("avx1024"); }, &message), ErrorCode::bad_config);
    EXPECT_THAT(message, testing::AllOf(testing::HasSubstr("avx1024"),
                                        testing::HasSubstr("sse2, avx2, avx512, avx512_bf16, amx")));
}

TEST(Device, ListsLeastFirstAndBestLast) {
    const std::vector<Isa> all = available_isas();
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front(), Isa::sse2);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    EXPECT_EQ(all.back(), best_isa());
    (void)fast();
    EXPECT_EQ(available_isas(), all) << "the first device must not change what is available";
}

TEST(Device, RefusesWhatTheProcessorLacks) {
    const std::vector<Isa> all = available_isas();
    for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx}) {
        if (std::find(all.begin(), all.end(), isa) != all.end()) continue;
        std::string message;
        EXPECT_EQ(code_of([&] { (void)Device::cpu(isa); }, &message), ErrorCode::bad_config);
        EXPECT_THAT(message, testing::HasSubstr("sse2"));
    }
}

TEST(Device, LowerOnesMayFollowHigherOnesMayNot) {
    const Isa first = fast().isa();
    EXPECT_EQ(Device::cpu(Isa::sse2).isa(), Isa::sse2);
    for (const Isa isa : available_isas()) {
        if (isa > first) {
            EXPECT_EQ(code_of([&] { (void)Device::cpu(isa); }), ErrorCode::internal);
        }
    }
}

TEST(Device, ScratchIsCounted) {
    MemoryLedger ledger;
    {
        const Device device = Device::cpu(Isa::sse2, &ledger);
        const Matrix x = Matrix::random(DType::bf16, 33, 40, 1);
        const Matrix w = Matrix::random(DType::bf16, 20, 40, 2);
        Matrix y(DType::bf16, 33, 20);
        linear_forward(device, x.view(), w.view(), {}, y.view());
        EXPECT_GE(ledger.current(), (33U * 40U + 20U * 40U) * 4U);
        const std::size_t once = ledger.current();
        linear_forward(device, x.view(), w.view(), {}, y.view());
        EXPECT_EQ(ledger.current(), once);
    }
    EXPECT_EQ(ledger.current(), 0U);
}

// The product of bf16 by fp32 copies, as an older processor does it, whatever this one is.
TEST(Device, LowestSetMultipliesBf16) {
    const Device device = Device::cpu(Isa::sse2);
    const Matrix x = Matrix::random(DType::bf16, 33, 70, 1);
    const Matrix w = Matrix::random(DType::bf16, 40, 70, 2);
    const auto run = [&](const Device& d) {
        Matrix y = Matrix::random(DType::bf16, 33, 40, 3);
        linear_forward(d, x.view(), w.view(), {}, y.view());
        Matrix dx = Matrix::random(DType::bf16, 33, 70, 4);
        linear_input_grad(d, y.view(), w.view(), dx.view(), Accumulate::yes);
        return std::vector{y, dx};
    };
    const std::vector<Matrix> expected = run(plain());
    const std::vector<Matrix> actual = run(device);
    expect_close(actual[0], expected[0], 1e-5, "y");
    // y may differ by one rounding of bf16 here and there; dx sums 40 of them.
    expect_close(actual[1], expected[1], 0x1p-9, "dx");
}

TEST(EveryInstructionSet, PassesAllTests) {
    if (std::getenv(kVariable) != nullptr) GTEST_SKIP() << "already run under " << std::getenv(kVariable);
    for (const Isa isa : available_isas()) {
        EXPECT_EQ(run_again(std::string(name_of(isa)).c_str(), "-EveryInstructionSet.*:Gradients.*"), 0)
            << name_of(isa);
    }
}

TEST(EveryInstructionSet, AnUnknownOneIsRefused) {
    EXPECT_NE(run_again("avx1024", "Device.LowerOnes*"), 0);
}

}  // namespace longhaul::kernels::test
