// Tensors with guarded padding, and the comparison of a device with the plain loops that every test of an op
// uses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/parallel_for.h"
#include "base/random.h"
#include "kernels/kernels.h"

namespace longhaul::kernels::test {

// The device under test: LONGHAUL_ISA decides, see device_test.cpp.
inline const Device& fast() {
    static const Device device = Device::cpu();
    return device;
}

inline const Device& plain() {
    static const Device device = Device::reference();
    return device;
}

// A matrix of rows * columns with `padding` elements behind each row, which nothing may touch.
class Matrix {
public:
    Matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t padding = 0)
        : dtype_(dtype),
          rows_(rows),
          columns_(columns),
          stride_(columns + padding),
          bytes_(static_cast<std::size_t>(rows * stride_) * size_of(dtype) + 64) {
        std::fill(bytes_.begin(), bytes_.end(), std::byte{0x5A});
        for (std::int64_t r = 0; r < rows; ++r)
            std::fill_n(row(r), static_cast<std::size_t>(columns) * size_of(dtype), std::byte{0});
    }

    // Normal numbers times `scale`, the same for the same seed.
    static Matrix random(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                         double scale = 1.0, std::int64_t padding = 0) {
        Matrix m(dtype, rows, columns, padding);
        for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < columns; ++c) {
                m.set(r, c, scale * normal_at(seed, static_cast<std::uint64_t>(r * columns + c)));
            }
        }
        return m;
    }

    [[nodiscard]] TensorView view() { return {bytes_.data(), dtype_, {rows_, columns_}, stride_}; }
    [[nodiscard]] ConstTensorView view() const { return {bytes_.data(), dtype_, {rows_, columns_}, stride_}; }
    // As a vector of rank 1; for matrices of one row.
    [[nodiscard]] TensorView vector() { return {bytes_.data(), dtype_, {columns_}}; }
    [[nodiscard]] ConstTensorView vector() const { return {bytes_.data(), dtype_, {columns_}}; }
    template <typename T>
    [[nodiscard]] std::span<T> span() {
        return {view().as<T>(), static_cast<std::size_t>(columns_)};
    }

    [[nodiscard]] double get(std::int64_t r, std::int64_t c) const {
        const void* p = row(r);
        switch (dtype_) {
            case DType::f32:
                return static_cast<const float*>(p)[c];
            case DType::bf16:
                return static_cast<double>(static_cast<float>(static_cast<const bf16*>(p)[c]));
            default:
                return static_cast<const std::int32_t*>(p)[c];
        }
    }
    void set(std::int64_t r, std::int64_t c, double value) {
        void* p = row(r);
        switch (dtype_) {
            case DType::f32:
                static_cast<float*>(p)[c] = static_cast<float>(value);
                break;
            case DType::bf16:
                static_cast<bf16*>(p)[c] = bf16(static_cast<float>(value));
                break;
            default:
                static_cast<std::int32_t*>(p)[c] = static_cast<std::int32_t>(value);
        }
    }

    [[nodiscard]] DType dtype() const { return dtype_; }
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t columns() const { return columns_; }
    [[nodiscard]] double largest() const {
        double value = 0;
        for (std::int64_t r = 0; r < rows_; ++r) {
            for (std::int64_t c = 0; c < columns_; ++c) value = std::max(value, std::abs(get(r, c)));
        }
        return value;
    }
    [[nodiscard]] bool padding_untouched() const {
        const auto marked = [](const std::byte* first, const std::byte* last) {
            return std::all_of(first, last, [](std::byte b) { return b == std::byte{0x5A}; });
        };
        const auto size = static_cast<std::int64_t>(size_of(dtype_));
        for (std::int64_t r = 0; r < rows_; ++r) {
            if (!marked(row(r) + columns_ * size, row(r) + stride_ * size)) return false;
        }
        return marked(bytes_.data() + rows_ * stride_ * size, bytes_.data() + bytes_.size());
    }
    friend bool operator==(const Matrix& a, const Matrix& b) { return a.bytes_ == b.bytes_; }

private:
    [[nodiscard]] const std::byte* row(std::int64_t r) const {
        return bytes_.data() + static_cast<std::size_t>(r * stride_) * size_of(dtype_);
    }
    [[nodiscard]] std::byte* row(std::int64_t r) {
        return bytes_.data() + static_cast<std::size_t>(r * stride_) * size_of(dtype_);
    }

    DType dtype_;
    std::int64_t rows_;
    std::int64_t columns_;
    std::int64_t stride_;
    std::vector<std::byte> bytes_;
};

// An op as a function of the device: fresh outputs (or copies of what is changed in place) at each call.
using Op = std::function<std::vector<Matrix>(const Device&)>;

// fp32: `tolerance` of the largest element of the output (or of `terms`, the size of terms that may all
// cancel), which bounds the rounding of sums whose terms cancel. bf16: the exact result and one that is off
// by that much may round to neighbouring numbers, 2^-7 of themselves apart at most (8 bits of significand),
// so that much is added.
inline void expect_close(const Matrix& actual, const Matrix& expected, double tolerance,
                         const std::string& what, double terms = 0) {
    ASSERT_EQ(actual.rows(), expected.rows());
    ASSERT_EQ(actual.columns(), expected.columns());
    const double allowed = tolerance * std::max(expected.largest(), terms) + 1e-30;
    for (std::int64_t r = 0; r < actual.rows(); ++r) {
        for (std::int64_t c = 0; c < actual.columns(); ++c) {
            const double b = expected.get(r, c);
            const double step = actual.dtype() == DType::bf16 ? 0x1p-7 * std::abs(b) : 0.0;
            const double error = std::abs(actual.get(r, c) - b);
            ASSERT_TRUE(error <= allowed + step)
                << what << " [" << r << ", " << c << "]: " << actual.get(r, c) << " instead of " << b
                << ", allowed " << allowed;
        }
    }
    ASSERT_TRUE(actual.padding_untouched()) << what << " wrote behind its rows";
}

// Runs the op with plain loops and on the device with one, two and three threads, and twice with three: the
// same bytes each time, and close to the plain loops.
inline void check(const Op& op, double tolerance = 1e-6, double terms = 0) {
    const std::vector<Matrix> expected = op(plain());
    const int before = threads();
    std::vector<std::vector<Matrix>> runs;
    for (const int count : {1, 2, 3, 3}) {
        set_threads(count);
        runs.push_back(op(fast()));
    }
    set_threads(before);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::string what = "output " + std::to_string(i);
        expect_close(runs[0][i], expected[i], tolerance, what, terms);
        for (std::size_t run = 1; run < runs.size(); ++run) {
            ASSERT_TRUE(runs[run][i] == runs[0][i]) << what << " depends on the threads or on the call";
        }
    }
}

constexpr DType kComputeTypes[] = {DType::f32, DType::bf16};
constexpr std::int64_t kOddSizes[] = {1, 7, 33, 257};

}  // namespace longhaul::kernels::test
