// Rotary positions and dropout: the table, checks and choice of the implementation.
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

void rope_table(double theta, TensorView table) {
    constexpr const char* op = "rope_table";
    check_matrix(op, "table", table, DType::f32, table.rows(), table.columns());
    require(table.columns() % 2 == 0, ErrorCode::internal, "{}: rotary_dim {} is odd", op, table.columns());
    const std::int64_t half = table.columns() / 2;
    for (std::int64_t p = 0; p < table.rows(); ++p) {
        float* row = table.as<float>() + p * table.row_stride;
        for (std::int64_t i = 0; i < half; ++i) {
            const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(table.columns());
            const double angle = static_cast<double>(p) * std::pow(theta, exponent);
            row[i] = static_cast<float>(std::cos(angle));
            row[half + i] = static_cast<float>(std::sin(angle));
        }
    }
}

void rope(const Device& device, ConstTensorView table, std::int64_t head_dim, std::int64_t sequence,
          std::int64_t first_position, bool inverse, TensorView x) {
    constexpr const char* op = "rope";
    check_compute_type(op, "x", x.dtype);
    check_matrix(op, "x", x, x.dtype, x.rows(), x.columns());
    check_matrix(op, "table", table, DType::f32, table.rows(), table.columns());
    require(head_dim > 0 && x.columns() % head_dim == 0, ErrorCode::internal,
            "{}: {} columns are no heads of {}", op, x.columns(), head_dim);
    require(table.columns() % 2 == 0 && table.columns() <= head_dim, ErrorCode::internal,
            "{}: rotary_dim {} must be even and at most head_dim {}", op, table.columns(), head_dim);
    require(
        sequence > 0 && first_position >= 0 && first_position + std::min(sequence, x.rows()) <= table.rows(),
        ErrorCode::internal, "{}: positions {} to {} are not in a table of {}", op, first_position,
        first_position + std::min(sequence, x.rows()), table.rows());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(x, x)); });
    dispatch<cpu::rope, reference::rope>(device, table, head_dim, sequence, first_position, inverse, x);
}

void dropout(const Device& device, ConstTensorView x, const Dropout& mask, std::int64_t sequence,
             TensorView y) {
    constexpr const char* op = "dropout";
    check_compute_type(op, "x", x.dtype);
    check_matrix(op, "x", x, x.dtype, x.rows(), x.columns());
    check_matrix(op, "y", y, x.dtype, x.rows(), x.columns());
    check_dropout(op, mask);
    require(sequence > 0, ErrorCode::internal, "{}: the sequence length is {}", op, sequence);
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(x, y)); });
    dispatch<cpu::dropout, reference::dropout>(device, x, mask, sequence, y);
}

}  // namespace longhaul::kernels
