// Checks of the arguments of public ops: every message names the op, the argument, what it is and what it
// should be.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "kernels/kernels.h"
#include "tensor/view.h"

namespace longhaul::kernels {

inline void check_compute_type(std::string_view op, std::string_view name, DType dtype) {
    require(dtype == DType::f32 || dtype == DType::bf16, ErrorCode::internal,
            "{}: {} is {}, not fp32 or bf16", op, name, name_of(dtype));
}

inline void check_type(std::string_view op, std::string_view name, DType dtype, DType wanted) {
    require(dtype == wanted, ErrorCode::internal, "{}: {} is {} instead of {}", op, name, name_of(dtype),
            name_of(wanted));
}

// A matrix of this many rows and columns, its rows apart from each other.
template <typename Void>
void check_matrix(std::string_view op, std::string_view name, const BasicView<Void>& view, DType dtype,
                  std::int64_t rows, std::int64_t columns) {
    check_type(op, name, view.dtype, dtype);
    require(view.rows() == rows && view.columns() == columns, ErrorCode::internal,
            "{}: {} is {} instead of [{}, {}]", op, name, view.shape.text(), rows, columns);
    require(rows <= 1 || view.row_stride >= columns, ErrorCode::internal,
            "{}: the rows of {} overlap: {} columns, stride {}", op, name, columns, view.row_stride);
    require(view.data != nullptr || rows * columns == 0, ErrorCode::internal, "{}: {} has no data", op, name);
}

// A dense vector of `count` elements; extents of any rank.
template <typename Void>
void check_vector(std::string_view op, std::string_view name, const BasicView<Void>& view, DType dtype,
                  std::int64_t count) {
    check_type(op, name, view.dtype, dtype);
    require(view.count() == count, ErrorCode::internal, "{}: {} is {} instead of {} elements", op, name,
            view.shape.text(), count);
    require(view.dense(), ErrorCode::internal, "{}: {} must be dense", op, name);
    require(view.data != nullptr || count == 0, ErrorCode::internal, "{}: {} has no data", op, name);
}

// The same where the argument may be left out.
template <typename Void>
void check_optional_vector(std::string_view op, std::string_view name, const BasicView<Void>& view,
                           DType dtype, std::int64_t count) {
    if (view) check_vector(op, name, view, dtype, count);
}

// A probability in [0, 1) and a sample number that is not negative.
inline void check_dropout(std::string_view op, const Dropout& mask) {
    require(mask.probability >= 0.0F && mask.probability < 1.0F, ErrorCode::internal,
            "{}: the probability {} is not in [0, 1)", op, mask.probability);
    require(mask.first_sample >= 0, ErrorCode::internal, "{}: the first sample is {}", op, mask.first_sample);
}

inline void check_size(std::string_view op, std::string_view name, std::size_t size, std::size_t wanted) {
    require(size == wanted, ErrorCode::internal, "{}: {} has {} elements instead of {}", op, name, size,
            wanted);
}

}  // namespace longhaul::kernels
