// A non-owning view of a matrix-like tensor: rows of contiguous elements, a fixed distance apart. A view of
// rank 3 or more has its leading axes folded into rows; a column slice of a matrix (the q part of a fused
// qkv) is a view as well.
#pragma once

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace longhaul {

template <typename Void>
struct BasicView {
    Void* data = nullptr;
    DType dtype = DType::f32;
    Shape shape;
    std::int64_t row_stride = 0;  // elements between the starts of neighbouring rows

    BasicView() = default;
    // Dense rows.
    BasicView(Void* data_, DType dtype_, Shape shape_)
        : data(data_), dtype(dtype_), shape(shape_), row_stride(shape_.last()) {}
    BasicView(Void* data_, DType dtype_, Shape shape_, std::int64_t row_stride_)
        : data(data_), dtype(dtype_), shape(shape_), row_stride(row_stride_) {}
    // A mutable view is a const one too.
    template <typename Other>
    requires(std::is_const_v<Void> && !std::is_const_v<Other>) BasicView(
        const BasicView<Other>& other)  // NOLINT(google-explicit-constructor): as T* converts to const T*
        : data(other.data), dtype(other.dtype), shape(other.shape), row_stride(other.row_stride) {}

    [[nodiscard]] explicit operator bool() const { return data != nullptr; }
    [[nodiscard]] std::int64_t rows() const { return shape.rows(); }
    [[nodiscard]] std::int64_t columns() const { return shape.last(); }
    [[nodiscard]] std::int64_t count() const { return shape.count(); }
    [[nodiscard]] bool dense() const { return row_stride == shape.last() || rows() == 1; }

    // The data as T; an internal error unless the dtype is T's.
    template <typename T>
    [[nodiscard]] auto* as() const {
        require(dtype == DTypeOf<std::remove_const_t<T>>::value, ErrorCode::internal,
                "a view of {} is read as another type", name_of(dtype));
        return static_cast<std::conditional_t<std::is_const_v<Void>, const T, T>*>(data);
    }

    [[nodiscard]] BasicView row_range(std::int64_t first, std::int64_t count) const {
        require(first >= 0 && count >= 0 && first <= rows() && count <= rows() - first, ErrorCode::internal,
                "{} rows from {} of {}", count, first, shape.text());
        return {offset(first * row_stride), dtype, {count, columns()}, row_stride};
    }
    [[nodiscard]] BasicView column_range(std::int64_t first, std::int64_t count) const {
        require(first >= 0 && count >= 0 && first <= columns() && count <= columns() - first,
                ErrorCode::internal, "{} columns from {} of {}", count, first, shape.text());
        return {offset(first), dtype, {rows(), count}, row_stride};
    }

private:
    using Bytes = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    [[nodiscard]] Void* offset(std::int64_t elements) const {
        return static_cast<Bytes*>(data) + elements * static_cast<std::int64_t>(size_of(dtype));
    }
};

using TensorView = BasicView<void>;
using ConstTensorView = BasicView<const void>;

}  // namespace longhaul
