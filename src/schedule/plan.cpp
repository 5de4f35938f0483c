// The one-rank plan.
#include "schedule/plan.h"

#include <fmt/format.h>

namespace longhaul::schedule {

std::vector<Action> make_step_plan(const StepLayout& layout) {
    std::vector<Action> plan;
    plan.push_back({ActionKind::load, 0, -1, {}});
    for (std::int64_t m = 0; m < layout.micro_batches; ++m) {
        // The backward before it must have released the activations.
        plan.push_back({ActionKind::forward, 0, m, {plan.size() - 1}});
        plan.push_back({ActionKind::backward, 0, m, {plan.size() - 1}});
    }
    plan.push_back({ActionKind::optimizer_step, 0, -1, {plan.size() - 1}});
    return plan;
}

std::string_view name_of(ActionKind kind) {
    switch (kind) {
        case ActionKind::load:
            return "load";
        case ActionKind::forward:
            return "forward";
        case ActionKind::backward:
            return "backward";
        case ActionKind::optimizer_step:
            return "optimizer step";
    }
    return "?";
}

std::string text(const std::vector<Action>& plan) {
    std::string out;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const Action& action = plan[i];
        out += fmt::format("{} {}", i, name_of(action.kind));
        if (action.micro_batch >= 0)
            out += fmt::format(" chunk {} micro-batch {}", action.chunk, action.micro_batch);
        for (std::size_t j = 0; j < action.after.size(); ++j)
            out += fmt::format("{} {}", j == 0 ? " after" : ",", action.after[j]);
        out += '\n';
    }
    return out;
}

}  // namespace longhaul::schedule
