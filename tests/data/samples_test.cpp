// Samples: windows of an epoch each once, epochs and seeds in different orders, blends, evaluation, and what
// is refused.
#include "data/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "data/indexed_writer.h"
#include "temp_folder.h"

namespace longhaul::data {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

using Tokens = std::vector<std::int32_t>;

// Tokens first, first + 1, ...: a sample's first token tells where it is from.
void write_counting(const std::string& prefix, std::int32_t first, const std::vector<int>& documents) {
    IndexedWriter writer(prefix, TokenType::i32);
    for (const int length : documents) {
        Tokens tokens(static_cast<std::size_t>(length));
        std::iota(tokens.begin(), tokens.end(), first);
        first += length;
        writer.append(tokens);
        writer.end_document();
    }
    writer.commit_tokens();
    writer.commit_index();
}

Tokens read(const SampleSource& source, std::int64_t index) {
    Tokens out(static_cast<std::size_t>(source.sequence_length() + 1));
    source.read(index, out);
    return out;
}

std::unique_ptr<SampleSource> open(const std::string& prefix, SampleOptions options) {
    const std::vector<BlendPart> parts{{prefix, 1.0}};
    return open_blend(parts, options);
}

TEST(Samples, SequentialWindowsShareOneToken) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {5, 0, 1, 20, 7});  // 33 tokens: windows of 8 + 1 begin at 0, 8, 16, 24
    const auto source = open(folder / "a", {.sequence = 8, .order = SampleOrder::sequential});
    EXPECT_FALSE(source->size().has_value());
    for (std::int64_t index = 0; index < 12; ++index) {
        const Tokens sample = read(*source, index);
        for (std::int32_t i = 0; i <= 8; ++i)
            EXPECT_EQ(sample[static_cast<std::size_t>(i)], static_cast<std::int32_t>(index % 4) * 8 + i);
    }
}

TEST(Samples, TheTailOfAnEpochIsDropped) {
    const TempFolder folder;
    for (const int tokens : {9, 10, 16}) {
        write_counting(folder / "a", 0, {tokens});
        const auto source = open(folder / "a", {.sequence = 8});
        EXPECT_EQ(read(*source, 0)[0], 0) << tokens;
        EXPECT_EQ(read(*source, 1)[0], 0) << tokens;
        EXPECT_EQ(read(*source, std::numeric_limits<std::int64_t>::max() / 2)[0], 0) << tokens;
    }
    write_counting(folder / "a", 0, {17});
    const auto source = open(folder / "a", {.sequence = 8, .order = SampleOrder::sequential});
    EXPECT_EQ(read(*source, 1)[0], 8);
    EXPECT_EQ(read(*source, 2)[0], 0);
}

TEST(Samples, TooLittleTextIsRefusedWithNumbers) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {8});
    EXPECT_THAT(message_of([&] { (void)open(folder / "a", {.sequence = 8}); }),
                AllOf(HasSubstr("8 tokens"), HasSubstr("the 9 of")));
    write_counting(folder / "a", 0, {});
    EXPECT_THAT(message_of([&] { (void)open(folder / "a", {.sequence = 8}); }), HasSubstr("0 tokens"));
    EXPECT_THROW((void)open(folder / "a", {.sequence = 0}), Error);
}

std::vector<std::int32_t> firsts(const SampleSource& source, std::int64_t begin, std::int64_t count) {
    std::vector<std::int32_t> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(read(source, begin + i)[0]);
    return out;
}

TEST(Samples, EachEpochHasEveryWindowOnceInItsOwnOrder) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {300, 701});  // 125 windows of 8
    const auto source = open(folder / "a", {.sequence = 8, .seed = 3});
    std::set<std::vector<std::int32_t>> orders;
    for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
        const auto order = firsts(*source, epoch * 125, 125);
        EXPECT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(), 125U);
        orders.insert(order);
    }
    EXPECT_EQ(orders.size(), 10U);
    for (std::uint64_t seed = 4; seed < 14; ++seed)
        orders.insert(firsts(*open(folder / "a", {.sequence = 8, .seed = seed}), 0, 125));
    EXPECT_EQ(orders.size(), 20U);
    // Another reader, and another order of asking, give the same.
    const auto again = open(folder / "a", {.sequence = 8, .seed = 3});
    for (std::int64_t index = 1249; index >= 0; index -= 7)
        EXPECT_EQ(read(*again, index), read(*source, index));
}

TEST(Samples, ABlendWalksEachPartThroughItsEpochs) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {81});         // 10 windows
    write_counting(folder / "b", 100000, {8001});  // 1000 windows
    const std::vector<BlendPart> parts{{folder / "a", 0.25}, {folder / "b", 0.75}};
    for (const SampleOrder order : {SampleOrder::shuffled, SampleOrder::sequential}) {
        const auto source = open_blend(parts, {.sequence = 8, .order = order});
        std::map<std::int32_t, int> seen;
        for (const std::int32_t first : firsts(*source, 0, 400)) ++seen[first];
        int light = 0;
        int heavy = 0;
        for (const auto& [first, count] : seen) {
            if (first < 100000) {
                EXPECT_EQ(count, 10);  // 100 samples are ten epochs of ten
                ++light;
            } else {
                EXPECT_EQ(count, 1);
                ++heavy;
            }
        }
        EXPECT_EQ(light, 10);
        EXPECT_EQ(heavy, 300);
    }
}

TEST(Samples, TheSameDataTwiceIsShuffledTwice) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {801});
    const std::vector<BlendPart> parts{{folder / "a", 1}, {folder / "a", 1}};
    const auto source = open_blend(parts, {.sequence = 8});
    const auto order = firsts(*source, 0, 200);
    int equal = 0;
    for (std::size_t i = 0; i < 200; i += 2) equal += order[i] == order[i + 1] ? 1 : 0;
    EXPECT_LT(equal, 10);
}

TEST(Samples, BadWeightsNameTheirData) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {81});
    for (const double weight : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        const std::vector<BlendPart> parts{{folder / "a", weight}};
        EXPECT_THAT(message_of([&] { (void)open_blend(parts, {.sequence = 8}); }), HasSubstr(folder / "a"));
    }
    EXPECT_THROW((void)open_blend({}, {.sequence = 8}), Error);
}

TEST(Samples, IdsOutsideTheVocabularyAreNamed) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {50, 50});
    const auto source = open(folder / "a", {.sequence = 10, .order = SampleOrder::sequential, .vocab = 77});
    EXPECT_NO_THROW(read(*source, 6));
    EXPECT_THAT(message_of([&] { read(*source, 7); }),
                AllOf(HasSubstr("document 1 (token 27 of it)"), HasSubstr("token id 77"),
                      HasSubstr("vocabulary has 77")));
    IndexedWriter writer(folder / "n", TokenType::i32);
    writer.append(Tokens{1, 2, -3});
    writer.end_document();
    writer.commit_tokens();
    writer.commit_index();
    const auto negative = open(folder / "n", {.sequence = 2});
    EXPECT_THAT(message_of([&] { read(*negative, 0); }), HasSubstr("token id -3"));
}

TEST(Samples, FingerprintSeesWhateverChangesTheSamples) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {500});
    write_counting(folder / "b", 1, {500});
    const auto print = [&](std::vector<BlendPart> parts, SampleOptions options) {
        return open_blend(parts, options)->fingerprint();
    };
    const BlendPart a{folder / "a", 1};
    const BlendPart b{folder / "b", 2};
    const SampleOptions base{.sequence = 8, .seed = 1};
    const SampleOptions sequential{.sequence = 8, .seed = 1, .order = SampleOrder::sequential};
    const std::set<std::uint64_t> different{
        print({a}, base),
        print({b}, base),
        print({a, b}, base),
        print({b, a}, base),
        print({a, {folder / "b", 3}}, base),
        print({a}, {.sequence = 9, .seed = 1}),
        print({a}, {.sequence = 8, .seed = 2}),
        print({a}, sequential),
        open_evaluation(std::vector{a}, base, 0)->fingerprint(),
    };
    EXPECT_EQ(different.size(), 9U);
    // What changes nothing: the scale of the weights, the check of the vocabulary, the seed of a fixed order.
    EXPECT_EQ(print({{folder / "a", 2}, {folder / "b", 4}}, base), print({a, b}, base));
    EXPECT_EQ(print({a}, {.sequence = 8, .seed = 1, .vocab = 1000}), print({a}, base));
    EXPECT_EQ(print({a}, {.sequence = 8, .seed = 9, .order = SampleOrder::sequential}),
              print({a}, sequential));
}

TEST(Samples, DescribeIsOneLine) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {500});
    write_counting(folder / "b", 1, {500});
    const std::vector<BlendPart> parts{{folder / "a", 1}, {folder / "b", 3}};
    const std::string text = open_blend(parts, {.sequence = 8})->describe();
    EXPECT_THAT(text,
                AllOf(HasSubstr("25% of samples"), HasSubstr("75%"), HasSubstr("62 samples of 8 an epoch")));
    EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Evaluation, PassesOnceOverAllPartsInOrder) {
    const TempFolder folder;
    write_counting(folder / "a", 0, {81});
    write_counting(folder / "b", 1000, {41});
    const std::vector<BlendPart> parts{{folder / "a", 1}, {folder / "b", 100}};
    const auto all = open_evaluation(parts, {.sequence = 8}, 0);
    ASSERT_EQ(all->size(), 15);
    const auto order = firsts(*all, 0, 15);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i * 8);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(order[static_cast<std::size_t>(10 + i)], 1000 + i * 8);
    EXPECT_THROW(read(*all, 15), Error);
    EXPECT_THROW(read(*all, -1), Error);

    const auto some = open_evaluation(parts, {.sequence = 8}, 5);
    ASSERT_EQ(some->size(), 5);
    EXPECT_EQ(firsts(*some, 0, 5), (std::vector<std::int32_t>{0, 24, 48, 72, 1016}));
    EXPECT_EQ(open_evaluation(parts, {.sequence = 8}, 100)->size(), 15);
    EXPECT_THROW((void)open_evaluation(parts, {.sequence = 8}, -1), Error);
}

}  // namespace
}  // namespace longhaul::data
