// Warm-up and the four shapes.
#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "spec/validate.h"

namespace longhaul::optim {

namespace {

// Share of the way from `first` to `last`, in [0, 1].
double progress(std::int64_t step, std::int64_t first, std::int64_t last) {
    if (step >= last) return 1.0;
    if (step <= first) return 0.0;
    return static_cast<double>(step - first) / static_cast<double>(last - first);
}

}  // namespace

double learning_rate(const spec::Optimizer& o, std::int64_t steps, std::int64_t step) {
    if (step < o.warmup) return o.lr * static_cast<double>(step) / static_cast<double>(o.warmup);
    const std::int64_t end = o.decay_steps == 0 ? steps : o.decay_steps;
    const double range = o.lr - o.min_lr;
    switch (o.schedule) {
        case spec::Schedule::constant:
            return o.lr;
        case spec::Schedule::cosine:
            return o.min_lr +
                   range * 0.5 * (1.0 + std::cos(std::numbers::pi * progress(step, o.warmup, end)));
        case spec::Schedule::linear:
            return o.min_lr + range * (1.0 - progress(step, o.warmup, end));
        case spec::Schedule::wsd: {
            const std::int64_t fall = spec::wsd_decay_steps(o, steps);
            return o.min_lr + range * (1.0 - progress(step, std::max(o.warmup, steps - fall), steps));
        }
    }
    return o.lr;
}

}  // namespace longhaul::optim
