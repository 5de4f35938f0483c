// What ops report of themselves: counts that follow from the shapes, sums by op and extents, no double
// counting.
#include "kernels/profile.h"

#include "kernels/support.h"

namespace longhaul::kernels::test {

namespace {

// Pairs by the definition of the mask.
double count_pairs(const AttentionShape& s) {
    double pairs = 0;
    for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t position = s.keys - s.queries + i;
        for (std::int64_t j = 0; j < s.keys; ++j) {
            if (j <= position && (s.window == 0 || j > position - s.window)) ++pairs;
        }
    }
    return pairs * static_cast<double>(s.batch * s.heads);
}

const OpRecord& only(const Profile& profile) {
    EXPECT_EQ(profile.records().size(), 1U);
    return profile.records().front();
}

}  // namespace

TEST(Profile, SumsByOpExtentsAndType) {
    Profile profile;
    const OpCost small{.flops = 10, .bytes = 4, .product = true, .extents = "1 x 2"};
    const OpCost large{.flops = 30, .bytes = 8, .product = true, .extents = "3 x 4"};
    profile.add("linear", DType::f32, small, 0.5);
    profile.add("linear", DType::f32, large, 1.0);
    profile.add("linear", DType::f32, small, 0.25);
    profile.add("linear", DType::bf16, small, 2.0);
    ASSERT_EQ(profile.records().size(), 3U);
    const OpRecord& first = profile.records()[0];
    EXPECT_EQ(first.op, "linear");
    EXPECT_EQ(first.extents, "1 x 2");
    EXPECT_EQ(first.calls, 2);
    EXPECT_EQ(first.seconds, 0.75);
    EXPECT_EQ(first.flops, 20);
    EXPECT_EQ(first.bytes, 8);
    EXPECT_TRUE(first.product);
    EXPECT_EQ(profile.records()[1].extents, "3 x 4");
    EXPECT_EQ(profile.records()[2].dtype, DType::bf16);
    profile.clear();
    EXPECT_TRUE(profile.records().empty());
}

TEST(Profile, ProductCost) {
    const OpCost cost = product_cost(2, 3, 5, DType::bf16, DType::f32, false);
    EXPECT_EQ(cost.flops, 60);
    EXPECT_EQ(cost.bytes, (2 * 5 + 5 * 3) * 2 + 2 * 3 * 4);
    EXPECT_EQ(product_cost(2, 3, 5, DType::bf16, DType::f32, true).bytes, cost.bytes + 2 * 3 * 4);
    EXPECT_EQ(cost.extents, "2 x 3 x 5");
}

TEST(Profile, VisiblePairsFollowTheMask) {
    for (const std::int64_t window : {0, 1, 5, 16, 40}) {
        for (const auto& [queries, keys] : std::vector<std::pair<std::int64_t, std::int64_t>>{
                 {1, 1}, {17, 17}, {1, 17}, {5, 17}, {33, 33}}) {
            const AttentionShape shape{.batch = 2,
                                       .queries = queries,
                                       .keys = keys,
                                       .heads = 3,
                                       .kv_heads = 1,
                                       .head_dim = 4,
                                       .window = window};
            EXPECT_EQ(visible_pairs(shape), count_pairs(shape)) << window << " " << queries << " " << keys;
        }
    }
}

TEST(Profile, AttentionCost) {
    const AttentionShape shape{.batch = 1, .queries = 4, .keys = 4, .heads = 2, .kv_heads = 1, .head_dim = 8};
    const double pairs = 2 * (1 + 2 + 3 + 4);
    EXPECT_EQ(attention_cost(shape, DType::f32, false).flops, 2 * 2 * 8 * pairs);
    EXPECT_EQ(attention_cost(shape, DType::f32, true).flops, 5 * 2 * 8 * pairs);
    EXPECT_EQ(attention_cost(shape, DType::bf16, false).bytes, 2 * (2 * 64 + 2 * 32));
    EXPECT_EQ(attention_cost(shape, DType::bf16, true).bytes, 2 * (4 * 64 + 4 * 32));
}

TEST(Profile, OpsReportToTheirDevice) {
    const Device device = Device::cpu();
    const Matrix x = Matrix::random(DType::f32, 5, 7, 1);
    const Matrix w = Matrix::random(DType::f32, 3, 7, 2);
    Matrix y(DType::f32, 5, 3);
    linear_forward(device, x.view(), w.view(), {}, y.view());  // before there is a profile
    Profile profile;
    device.set_profile(&profile);
    linear_forward(device, x.view(), w.view(), {}, y.view());
    linear_forward(device, x.view(), w.view(), {}, y.view());
    device.set_profile(nullptr);
    linear_forward(device, x.view(), w.view(), {}, y.view());
    const OpRecord& record = only(profile);
    EXPECT_EQ(record.op, "linear_forward");
    EXPECT_EQ(record.calls, 2);
    EXPECT_EQ(record.flops, 2 * 2.0 * 5 * 3 * 7);
    EXPECT_GT(record.seconds, 0);
}

// An op that calls another counts the time once.
TEST(Profile, NestedOpsAreNotCountedTwice) {
    const Device device = Device::cpu();
    Profile profile;
    device.set_profile(&profile);
    {
        const OpTimer outer(device, "outer", DType::f32, [] { return traffic(8); });
        const OpTimer inner(device, "inner", DType::f32, [] { return traffic(4); });
    }
    device.set_profile(nullptr);
    EXPECT_EQ(only(profile).op, "outer");
}

TEST(Profile, CostIsNotComputedWithoutAProfile) {
    const Device device = Device::cpu();
    const OpTimer timer(device, "op", DType::f32, []() -> OpCost {
        ADD_FAILURE() << "computed";
        return {};
    });
}

}  // namespace longhaul::kernels::test
