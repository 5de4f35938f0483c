// Repeats products of a few shapes and keeps the fastest.
#include "kernels/peak.h"

#include <algorithm>
#include <array>

#include "base/time.h"
#include "kernels/kernels.h"
#include "tensor/buffer.h"

namespace longhaul::kernels {

namespace {

struct Extents {
    std::int64_t tokens;
    std::int64_t in;
    std::int64_t out;
};

constexpr std::array<Extents, 4> kShapes{
    {{1024, 1024, 1024}, {2048, 768, 3072}, {2048, 3072, 768}, {2048, 2048, 2048}}};

Buffer filled(const Device& device, DType compute, std::int64_t rows, std::int64_t columns) {
    Buffer source(static_cast<std::size_t>(rows * columns) * sizeof(float), "peak measurement", nullptr);
    auto* values = source.view(DType::f32, {rows, columns}).as<float>();
    for (std::int64_t i = 0; i < rows * columns; ++i) values[i] = static_cast<float>(i % 17 - 8) * 0.125F;
    if (compute == DType::f32) return source;
    Buffer converted(static_cast<std::size_t>(rows * columns) * size_of(compute), "peak measurement",
                     nullptr);
    convert(device, source.view(DType::f32, {rows, columns}), converted.view(compute, {rows, columns}));
    return converted;
}

double rate_of(const Device& device, DType compute, const Extents& shape, double seconds) {
    const Buffer x = filled(device, compute, shape.tokens, shape.in);
    const Buffer weight = filled(device, compute, shape.out, shape.in);
    const Buffer y(static_cast<std::size_t>(shape.tokens * shape.out) * size_of(compute), "peak measurement",
                   nullptr);
    const auto product = [&] {
        linear_forward(device, x.view(compute, {shape.tokens, shape.in}),
                       weight.view(compute, {shape.out, shape.in}), {},
                       y.view(compute, {shape.tokens, shape.out}));
    };
    product();  // makes the primitive and touches the memory
    double fastest = 0;
    const Stopwatch total;
    do {
        const Stopwatch one;
        product();
        const double flops =
            2.0 * static_cast<double>(shape.tokens) * static_cast<double>(shape.in * shape.out);
        fastest = std::max(fastest, flops / one.seconds());
    } while (total.seconds() < seconds);
    return fastest;
}

}  // namespace

double best_matmul_rate(const Device& device, DType compute, double seconds) {
    double best = 0;
    for (const Extents& shape : kShapes) {
        best = std::max(best, rate_of(device, compute, shape, seconds / static_cast<double>(kShapes.size())));
    }
    return best;
}

}  // namespace longhaul::kernels
