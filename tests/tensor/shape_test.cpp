// Extents, their products and their text.
#include "tensor/shape.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace longhaul {

TEST(Shape, CountsRowsAndElements) {
    const Shape shape{2, 3, 4};
    EXPECT_EQ(shape.rank(), 3);
    EXPECT_EQ(shape[1], 3);
    EXPECT_EQ(shape.count(), 24);
    EXPECT_EQ(shape.rows(), 6);
    EXPECT_EQ(shape.last(), 4);
    EXPECT_EQ(shape.text(), "[2, 3, 4]");
}

TEST(Shape, NoExtentIsOneElement) {
    const Shape scalar;
    EXPECT_EQ(scalar.rank(), 0);
    EXPECT_EQ(scalar.count(), 1);
    EXPECT_EQ(scalar.rows(), 1);
    EXPECT_EQ(scalar.last(), 1);
    EXPECT_EQ(scalar.text(), "[]");
}

TEST(Shape, VectorIsOneRow) {
    const Shape vector{5};
    EXPECT_EQ(vector.rows(), 1);
    EXPECT_EQ(vector.last(), 5);
}

TEST(Shape, EmptyExtentEmptiesTheTensor) {
    EXPECT_EQ((Shape{0, 4}).count(), 0);
    EXPECT_EQ((Shape{0, 4}).rows(), 0);
}

TEST(Shape, ComparesRankAndExtents) {
    EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
    EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
    EXPECT_NE((Shape{2}), (Shape{2, 0}));
}

TEST(Shape, RefusesFiveExtentsAndNegativeOnes) {
    EXPECT_THROW((Shape{1, 2, 3, 4, 5}), Error);
    EXPECT_THROW((Shape{2, -1}), Error);
}

}  // namespace longhaul
