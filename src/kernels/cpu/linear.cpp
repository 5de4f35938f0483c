// Linear layers as matrix products. A processor without bf16 products gets fp32 copies of bf16 operands.
#include <optional>

#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/products.h"
#include "kernels/state.h"

namespace longhaul::kernels::cpu {

namespace {

bool multiplies_bf16(const Device& device) {
    return device.isa() >= Isa::avx512_bf16;
}

// An fp32 copy of a view in scratch memory, or the view itself where no copy is needed.
class Widened {
public:
    Widened(const Device& device, ConstTensorView view, bool fill = true) : view_(view) {
        if (view.dtype != DType::bf16 || multiplies_bf16(device)) return;
        block_.emplace(device.state().scratch, static_cast<std::size_t>(view.count()) * sizeof(float));
        copy_ = {block_->data(), DType::f32, {view.rows(), view.columns()}};
        if (fill) kernels::convert(device, view, copy_);
        view_ = copy_;
    }
    [[nodiscard]] bool copied() const { return block_.has_value(); }
    [[nodiscard]] TensorView copy() const { return copy_; }
    [[nodiscard]] Operand operand() const { return {view_.data, view_.dtype, view_.row_stride, 1}; }
    [[nodiscard]] Operand transposed() const { return {view_.data, view_.dtype, 1, view_.row_stride}; }

private:
    std::optional<ScratchPool::Block> block_;
    ConstTensorView view_;
    TensorView copy_;
};

// Runs the product into `c`, by way of an fp32 copy where a bf16 output can't be written directly.
void run(const Device& device, Product product, TensorView c) {
    const bool by_copy = c.dtype == DType::bf16 && product.a.dtype == DType::f32;
    std::optional<Widened> wide;
    if (by_copy) wide.emplace(device, c, product.accumulate);
    const TensorView target = by_copy ? wide->copy() : c;
    product.c = target.data;
    product.c_dtype = target.dtype;
    product.c_step = target.row_stride;
    device.state().products->run(device, product);
    if (by_copy) kernels::convert(device, target, c);
}

}  // namespace

bool linear_forward(const Device& device, ConstTensorView x, ConstTensorView weight, ConstTensorView bias,
                    TensorView y) {
    if (y.count() == 0) return true;
    if (x.columns() == 0) return false;
    const Widened a(device, x);
    const Widened b(device, weight);
    run(device,
        {.m = y.rows(),
         .n = y.columns(),
         .k = x.columns(),
         .a = a.operand(),
         .b = b.transposed(),
         .bias = bias ? bias.as<float>() : nullptr},
        y);
    return true;
}

bool linear_input_grad(const Device& device, ConstTensorView dy, ConstTensorView weight, TensorView dx,
                       Accumulate accumulate) {
    if (dx.count() == 0) return true;
    if (dy.columns() == 0) return false;
    const Widened a(device, dy);
    const Widened b(device, weight);
    run(device,
        {.m = dx.rows(),
         .n = dx.columns(),
         .k = dy.columns(),
         .a = a.operand(),
         .b = b.operand(),
         .accumulate = accumulate == Accumulate::yes},
        dx);
    return true;
}

bool linear_weight_grad(const Device& device, ConstTensorView dy, ConstTensorView x, TensorView dweight,
                        TensorView dbias) {
    if (dy.rows() == 0) return true;
    if (dbias) add_column_sums(device, dy, dbias.as<float>());
    if (dweight.count() == 0) return true;
    const Widened a(device, dy);
    const Widened b(device, x);
    run(device,
        {.m = dweight.rows(),
         .n = dweight.columns(),
         .k = dy.rows(),
         .a = a.transposed(),
         .b = b.operand(),
         .accumulate = true},
        dweight);
    return true;
}

}  // namespace longhaul::kernels::cpu
