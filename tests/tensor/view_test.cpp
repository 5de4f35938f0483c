// Views: slices of rows and columns, their strides, and refusals.
#include "tensor/view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace longhaul {
namespace {

class View : public testing::Test {
protected:
    View() { std::iota(values_.begin(), values_.end(), 0.0F); }
    std::vector<float> values_ = std::vector<float>(24);
    TensorView view_{values_.data(), DType::f32, {2, 3, 4}};
};

TEST_F(View, FoldsLeadingAxesIntoRows) {
    EXPECT_EQ(view_.rows(), 6);
    EXPECT_EQ(view_.columns(), 4);
    EXPECT_EQ(view_.row_stride, 4);
    EXPECT_TRUE(view_.dense());
    EXPECT_EQ(view_.count(), 24);
}

TEST_F(View, RowRangeStartsAtItsRow) {
    const TensorView rows = view_.row_range(2, 3);
    EXPECT_EQ(rows.shape, (Shape{3, 4}));
    EXPECT_EQ(*rows.as<float>(), 8.0F);
    EXPECT_TRUE(rows.dense());
    EXPECT_EQ(view_.row_range(6, 0).rows(), 0);
}

TEST_F(View, ColumnRangeKeepsTheStride) {
    const TensorView columns = view_.column_range(1, 2);
    EXPECT_EQ(columns.shape, (Shape{6, 2}));
    EXPECT_EQ(columns.row_stride, 4);
    EXPECT_FALSE(columns.dense());
    EXPECT_EQ(columns.as<float>()[0], 1.0F);
    // Rows of a column slice are still four elements apart.
    EXPECT_EQ(columns.row_range(2, 1).as<float>()[0], 9.0F);
    EXPECT_TRUE(columns.row_range(2, 1).dense());
}

TEST_F(View, RangesOutsideAreRefused) {
    EXPECT_THROW((void)view_.row_range(4, 3), Error);
    EXPECT_THROW((void)view_.row_range(-1, 1), Error);
    EXPECT_THROW((void)view_.row_range(0, -1), Error);
    EXPECT_THROW((void)view_.column_range(3, 2), Error);
    EXPECT_THROW((void)view_.column_range(-1, 2), Error);
}

TEST_F(View, RefusesToBeReadAsAnotherType) {
    EXPECT_THROW((void)view_.as<bf16>(), Error);
    EXPECT_THROW((void)view_.as<std::int32_t>(), Error);
}

TEST_F(View, OffsetsCountBytesOfTheType) {
    std::vector<std::uint16_t> halves{1, 2, 3, 4, 5, 6};
    const TensorView view(halves.data(), DType::u16, {2, 3});
    EXPECT_EQ(*view.row_range(1, 1).column_range(2, 1).as<std::uint16_t>(), 6);
}

TEST_F(View, MutableViewIsAConstViewToo) {
    const ConstTensorView read = view_;
    EXPECT_EQ(read.data, view_.data);
    EXPECT_EQ(read.row_range(1, 1).as<float>()[3], 7.0F);
    static_assert(std::is_same_v<decltype(read.as<float>()), const float*>);
    static_assert(!std::is_constructible_v<TensorView, ConstTensorView>);
}

TEST_F(View, EmptyViewIsFalse) {
    EXPECT_FALSE(TensorView());
    EXPECT_TRUE(view_);
}

}  // namespace
}  // namespace longhaul
