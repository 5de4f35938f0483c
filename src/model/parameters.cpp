// Flat storage and initial values.
#include "model/parameters.h"

#include "base/checked.h"
#include "base/parallel_for.h"
#include "base/random.h"
#include "kernels/kernels.h"

namespace longhaul::model {

namespace {

constexpr std::int64_t kPiece = 1 << 14;

std::size_t bytes_of(const Layout& layout, DType dtype) {
    return static_cast<std::size_t>(layout.size) * size_of(dtype);
}

}  // namespace

Parameters::Parameters(const spec::Model& model, DType compute, Gradients gradients, MemoryLedger* ledger)
    : layout_(make_layout(model)),
      compute_(compute),
      masters_(bytes_of(layout_, DType::f32), "parameters", ledger) {
    if (gradients == Gradients::yes) gradients_ = Buffer(bytes_of(layout_, DType::f32), "gradients", ledger);
    if (compute == DType::bf16)
        copies_ = Buffer(bytes_of(layout_, DType::bf16), "parameters in bf16", ledger);
}

std::span<float> Parameters::floats(const Buffer& buffer) const {
    if (buffer.data() == nullptr) return {};
    return {reinterpret_cast<float*>(buffer.data()), static_cast<std::size_t>(layout_.size)};
}

std::span<bf16> Parameters::copies() const {
    if (copies_.data() == nullptr) return {};
    return {reinterpret_cast<bf16*>(copies_.data()), static_cast<std::size_t>(layout_.size)};
}

std::span<bf16> Parameters::copy(const GlobalTensor& tensor) const {
    return copies().empty() ? std::span<bf16>{} : part(copies(), tensor);
}

ConstTensorView Parameters::matrix(const Slot& slot) const {
    const Buffer& source = compute_ == DType::bf16 ? copies_ : masters_;
    return source.view(compute_, {slot.rows, slot.columns},
                       static_cast<std::size_t>(slot.offset) * size_of(compute_));
}

ConstTensorView Parameters::vector(const Slot& slot) const {
    if (!slot.present()) return {};
    return masters_.view(DType::f32, {slot.columns}, static_cast<std::size_t>(slot.offset) * sizeof(float));
}

TensorView Parameters::gradient(const Slot& slot) const {
    if (!slot.present()) return {};
    const Shape shape = slot.rows == 1 ? Shape{slot.columns} : Shape{slot.rows, slot.columns};
    return gradients_.view(DType::f32, shape, static_cast<std::size_t>(slot.offset) * sizeof(float));
}

void Parameters::initialise(std::uint64_t seed) {
    for (const GlobalTensor& tensor : layout_.tensors) {
        const std::span<float> values = master(tensor);
        const std::uint64_t key = stream_key(seed, "init", tensor.name);
        const auto std = static_cast<float>(tensor.initial.std);
        parallel_for(div_ceil(tensor.count(), kPiece), [&](std::int64_t piece) {
            const std::int64_t end = std::min(tensor.count(), (piece + 1) * kPiece);
            for (std::int64_t i = piece * kPiece; i < end; ++i) {
                const auto index = static_cast<std::size_t>(i);
                values[index] = std == 0.0F ? tensor.initial.constant : std * normal_at(key, index);
            }
        });
    }
}

void Parameters::refresh_copies(const kernels::Device& device) const {
    if (compute_ != DType::bf16) return;
    kernels::convert(device, masters_.view(DType::f32, {layout_.size}),
                     copies_.view(DType::bf16, {layout_.size}));
}

}  // namespace longhaul::model
