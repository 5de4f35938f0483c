// Extents and their products.
#include "tensor/shape.h"

#include "base/error.h"

namespace longhaul {

Shape::Shape(std::initializer_list<std::int64_t> extents) {
    require(extents.size() <= kMaxRank, ErrorCode::internal, "a shape has at most {} extents", kMaxRank);
    for (const std::int64_t extent : extents) {
        require(extent >= 0, ErrorCode::internal, "a shape can't have the negative extent {}", extent);
        extents_[static_cast<std::size_t>(rank_++)] = extent;
    }
}

std::int64_t Shape::count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= (*this)[i];
    return product;
}

std::int64_t Shape::rows() const {
    std::int64_t product = 1;
    for (int i = 0; i + 1 < rank_; ++i) product *= (*this)[i];
    return product;
}

std::vector<std::int64_t> Shape::extents() const {
    return {extents_.begin(), extents_.begin() + rank_};
}

std::string Shape::text() const {
    std::string text = "[";
    for (int i = 0; i < rank_; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", (*this)[i]);
    return text + "]";
}

}  // namespace longhaul
