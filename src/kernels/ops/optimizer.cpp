// Optimizer updates: checks and choice of the implementation.
#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

namespace {

void check_copy(const char* op, std::span<const bf16> copy, std::size_t size) {
    if (!copy.empty()) check_size(op, "copy", copy.size(), size);
}

}  // namespace

void adamw_update(const Device& device, const AdamStep& step, std::span<float> weight,
                  std::span<const float> grad, std::span<float> m, std::span<float> v, std::span<bf16> copy) {
    constexpr const char* op = "adamw_update";
    check_size(op, "grad", grad.size(), weight.size());
    check_size(op, "m", m.size(), weight.size());
    check_size(op, "v", v.size(), weight.size());
    check_copy(op, copy, weight.size());
    const OpTimer timer(device, op, DType::f32, [&] {
        return traffic(7.0 * static_cast<double>(sizeof(float)) * static_cast<double>(weight.size()) +
                       static_cast<double>(copy.size_bytes()));
    });
    dispatch<cpu::adamw_update, reference::adamw_update>(device, step, weight, grad, m, v, copy);
}

LambNorms lamb_direction(const Device& device, const AdamStep& step, std::span<const float> weight,
                         std::span<float> grad, std::span<float> m, std::span<float> v) {
    constexpr const char* op = "lamb_direction";
    check_size(op, "grad", grad.size(), weight.size());
    check_size(op, "m", m.size(), weight.size());
    check_size(op, "v", v.size(), weight.size());
    LambNorms norms;
    const OpTimer timer(device, op, DType::f32, [&] {
        return traffic(7.0 * static_cast<double>(sizeof(float)) * static_cast<double>(weight.size()));
    });
    dispatch<cpu::lamb_direction, reference::lamb_direction>(device, step, weight, grad, m, v, norms);
    return norms;
}

void lamb_apply(const Device& device, float rate, std::span<float> weight, std::span<const float> u,
                std::span<bf16> copy) {
    constexpr const char* op = "lamb_apply";
    check_size(op, "u", u.size(), weight.size());
    check_copy(op, copy, weight.size());
    const OpTimer timer(device, op, DType::f32, [&] {
        return traffic(3.0 * static_cast<double>(sizeof(float)) * static_cast<double>(weight.size()) +
                       static_cast<double>(copy.size_bytes()));
    });
    dispatch<cpu::lamb_apply, reference::lamb_apply>(device, rate, weight, u, copy);
}

}  // namespace longhaul::kernels
