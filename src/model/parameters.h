// The values of a model: fp32 masters, fp32 gradients, and in bf16 training a bf16 copy that the products
// read. All in flat ranges with the offsets of the layout.
#pragma once

#include <span>

#include "kernels/device.h"
#include "model/layout.h"
#include "tensor/buffer.h"

namespace longhaul::model {

enum class Gradients : bool { no, yes };

class Parameters {
public:
    // Zero-filled. compute: f32 or bf16. `ledger` may be null and must outlive the object.
    Parameters(const spec::Model& model, DType compute, Gradients gradients, MemoryLedger* ledger);

    [[nodiscard]] const Layout& layout() const { return layout_; }
    [[nodiscard]] DType compute() const { return compute_; }

    [[nodiscard]] std::span<float> masters() const { return floats(masters_); }
    [[nodiscard]] std::span<float> gradients() const { return floats(gradients_); }
    // Empty where compute is fp32.
    [[nodiscard]] std::span<bf16> copies() const;

    [[nodiscard]] std::span<float> master(const GlobalTensor& tensor) const {
        return part(masters(), tensor);
    }
    [[nodiscard]] std::span<float> gradient(const GlobalTensor& tensor) const {
        return part(gradients(), tensor);
    }
    [[nodiscard]] std::span<bf16> copy(const GlobalTensor& tensor) const;

    // What layers multiply with: [rows, columns] in the compute type.
    [[nodiscard]] ConstTensorView matrix(const Slot& slot) const;
    // fp32 [columns]; an empty view where the slot is absent.
    [[nodiscard]] ConstTensorView vector(const Slot& slot) const;
    // fp32 [rows, columns] or [columns]; an empty view where the slot is absent.
    [[nodiscard]] TensorView gradient(const Slot& slot) const;

    // Initial values, a function of (seed, tensor name, index): the same bytes in every layout and for any
    // number of threads.
    void initialise(std::uint64_t seed);
    // Rounds the masters to the compute copy; after anything but the optimizer has written masters.
    void refresh_copies(const kernels::Device& device) const;

private:
    [[nodiscard]] std::span<float> floats(const Buffer& buffer) const;
    template <typename T>
    [[nodiscard]] std::span<T> part(std::span<T> all, const GlobalTensor& tensor) const {
        return all.subspan(static_cast<std::size_t>(tensor.offset), static_cast<std::size_t>(tensor.count()));
    }

    Layout layout_;
    DType compute_;
    Buffer masters_;
    Buffer gradients_;
    Buffer copies_;
};

}  // namespace longhaul::model
