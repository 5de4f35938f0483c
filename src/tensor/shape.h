// Up to four extents, outermost first.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace longhaul {

class Shape {
public:
    static constexpr int kMaxRank = 4;

    constexpr Shape() = default;
    // An internal error for more than four extents or a negative one.
    Shape(std::initializer_list<std::int64_t> extents);

    [[nodiscard]] constexpr int rank() const { return rank_; }
    [[nodiscard]] constexpr std::int64_t operator[](int axis) const {
        return extents_[static_cast<std::size_t>(axis)];
    }
    // Number of elements; 1 for rank 0.
    [[nodiscard]] std::int64_t count() const;
    [[nodiscard]] constexpr std::int64_t last() const { return rank_ == 0 ? 1 : (*this)[rank_ - 1]; }
    // Product of all extents but the last.
    [[nodiscard]] std::int64_t rows() const;
    [[nodiscard]] std::vector<std::int64_t> extents() const;
    [[nodiscard]] std::string text() const;  // "[2, 3]"
    friend constexpr bool operator==(const Shape&, const Shape&) = default;

private:
    std::array<std::int64_t, kMaxRank> extents_{};
    int rank_ = 0;
};

}  // namespace longhaul
