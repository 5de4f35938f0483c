// Element-wise ops and the sum of squares: checks and choice of the implementation.
#include <cstring>

#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

void add(const Device& device, ConstTensorView a, ConstTensorView b, TensorView out) {
    constexpr const char* op = "add";
    check_compute_type(op, "out", out.dtype);
    check_matrix(op, "out", out, out.dtype, out.rows(), out.columns());
    check_matrix(op, "a", a, out.dtype, out.rows(), out.columns());
    check_matrix(op, "b", b, out.dtype, out.rows(), out.columns());
    const OpTimer timer(device, op, out.dtype, [&] { return traffic(bytes_of(a, b, out)); });
    dispatch<cpu::add, reference::add>(device, a, b, out);
}

void convert(const Device& device, ConstTensorView from, TensorView to) {
    constexpr const char* op = "convert";
    check_compute_type(op, "from", from.dtype);
    check_compute_type(op, "to", to.dtype);
    check_matrix(op, "to", to, to.dtype, to.rows(), to.columns());
    check_matrix(op, "from", from, from.dtype, to.rows(), to.columns());
    const OpTimer timer(device, op, to.dtype, [&] { return traffic(bytes_of(from, to)); });
    dispatch<cpu::convert, reference::convert>(device, from, to);
}

void fill_zero(const Device& device, TensorView x) {
    constexpr const char* op = "fill_zero";
    check_matrix(op, "x", x, x.dtype, x.rows(), x.columns());
    const OpTimer timer(device, op, x.dtype, [&] { return traffic(bytes_of(x)); });
    const std::size_t size = size_of(x.dtype);
    const std::size_t bytes = static_cast<std::size_t>(x.columns()) * size;
    auto* data = static_cast<std::byte*>(x.data);
    if (bytes == 0) return;
    if (x.dense()) {
        std::memset(data, 0, bytes * static_cast<std::size_t>(x.rows()));
        return;
    }
    for (std::int64_t t = 0; t < x.rows(); ++t)
        std::memset(data + static_cast<std::size_t>(t * x.row_stride) * size, 0, bytes);
}

double sum_squares(const Device& device, std::span<const float> x) {
    const OpTimer timer(device, "sum_squares", DType::f32,
                        [&] { return traffic(static_cast<double>(x.size_bytes())); });
    double sum = 0;
    dispatch<cpu::sum_squares, reference::sum_squares>(device, x, sum);
    return sum;
}

}  // namespace longhaul::kernels
