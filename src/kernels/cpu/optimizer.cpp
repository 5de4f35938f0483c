// AdamW in one pass, LAMB in two, over flat ranges.
#include "kernels/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimizer.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace longhaul::kernels::cpu::HWY_NAMESPACE {

// Coefficients of a step, rounded to fp32 once, from double.
struct Coefficients {
    Vec beta1, rest1, beta2, rest2, inverse1, inverse2, eps, decay, scale;
    explicit Coefficients(const AdamStep& s)
        : beta1(set(s.beta1)),
          rest1(set(1.0 - s.beta1)),
          beta2(set(s.beta2)),
          rest2(set(1.0 - s.beta2)),
          inverse1(set(1.0 / s.correction1)),
          inverse2(set(1.0 / s.correction2)),
          eps(set(s.eps)),
          decay(set(s.decay)),
          scale(set(s.grad_scale)) {}
    static Vec set(double value) { return hn::Set(Tag(), static_cast<float>(value)); }

    // Moves both moments and returns m^ / (sqrt(v^) + eps) + decay w.
    HWY_INLINE Vec direction(Vec weight, Vec grad, float* m_at, float* v_at, std::int64_t left) const {
        const Vec g = hn::Mul(grad, scale);
        const Vec m = hn::MulAdd(beta1, load(m_at, left), hn::Mul(rest1, g));
        const Vec v = hn::MulAdd(beta2, load(v_at, left), hn::Mul(rest2, hn::Mul(g, g)));
        store(m, m_at, left);
        store(v, v_at, left);
        const Vec root = hn::Add(hn::Sqrt(hn::Mul(v, inverse2)), eps);
        return hn::MulAdd(decay, weight, hn::Div(hn::Mul(m, inverse1), root));
    }
};

void adamw(const AdamStep& step, float* weight, const float* grad, float* m, float* v, bf16* copy,
           std::int64_t count) {
    const std::int64_t n = lanes();
    const Coefficients coefficients(step);
    const Vec rate = Coefficients::set(step.lr);
    for (std::int64_t i = 0; i < count; i += n) {
        const std::int64_t left = count - i;
        const Vec w = load(weight + i, left);
        // Lanes behind the end may divide 0 by 0 where eps = 0; they are not stored.
        const Vec updated =
            hn::NegMulAdd(rate, coefficients.direction(w, load(grad + i, left), m + i, v + i, left), w);
        store(updated, weight + i, left);
        if (copy != nullptr) store(updated, copy + i, left);
    }
}

void lamb(const AdamStep& step, const float* weight, float* grad, float* m, float* v, std::int64_t count,
          LambNorms& norms) {
    const std::int64_t n = lanes();
    const Coefficients coefficients(step);
    DoubleSum weights;
    DoubleSum updates;
    for (std::int64_t i = 0; i < count; i += n) {
        const std::int64_t left = count - i;
        const Vec w = load(weight + i, left);
        const Vec u = coefficients.direction(w, load(grad + i, left), m + i, v + i, left);
        store(u, grad + i, left);
        weights.add_square(w);
        updates.add_square(keep_first(u, left));
    }
    norms.weight_squares = weights.total();
    norms.update_squares = updates.total();
}

void apply(float rate, float* weight, const float* u, bf16* copy, std::int64_t count) {
    const std::int64_t n = lanes();
    for (std::int64_t i = 0; i < count; i += n) {
        const std::int64_t left = count - i;
        const Vec updated = hn::NegMulAdd(hn::Set(Tag(), rate), load(u + i, left), load(weight + i, left));
        store(updated, weight + i, left);
        if (copy != nullptr) store(updated, copy + i, left);
    }
}

}  // namespace longhaul::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace longhaul::kernels::cpu {

HWY_EXPORT(adamw);
HWY_EXPORT(lamb);
HWY_EXPORT(apply);

bool adamw_update(const Device& device, const AdamStep& step, std::span<float> weight,
                  std::span<const float> grad, std::span<float> m, std::span<float> v, std::span<bf16> copy) {
    each_piece(std::ssize(weight), [&](std::int64_t first, std::int64_t count) {
        LONGHAUL_DISPATCH(device, adamw)
        (step, weight.data() + first, grad.data() + first, m.data() + first, v.data() + first,
         copy.empty() ? nullptr : copy.data() + first, count);
    });
    return true;
}

bool lamb_direction(const Device& device, const AdamStep& step, std::span<const float> weight,
                    std::span<float> grad, std::span<float> m, std::span<float> v, LambNorms& norms) {
    std::vector<LambNorms> partial(static_cast<std::size_t>(div_ceil(std::ssize(weight), kPiece)));
    each_piece(std::ssize(weight), [&](std::int64_t first, std::int64_t count) {
        LONGHAUL_DISPATCH(device, lamb)
        (step, weight.data() + first, grad.data() + first, m.data() + first, v.data() + first, count,
         partial[static_cast<std::size_t>(first / kPiece)]);
    });
    norms = {};
    for (const LambNorms& part : partial) {
        norms.weight_squares += part.weight_squares;
        norms.update_squares += part.update_squares;
    }
    return true;
}

bool lamb_apply(const Device& device, float rate, std::span<float> weight, std::span<const float> u,
                std::span<bf16> copy) {
    each_piece(std::ssize(weight), [&](std::int64_t first, std::int64_t count) {
        LONGHAUL_DISPATCH(device, apply)
        (rate, weight.data() + first, u.data() + first, copy.empty() ? nullptr : copy.data() + first, count);
    });
    return true;
}

}  // namespace longhaul::kernels::cpu
#endif
