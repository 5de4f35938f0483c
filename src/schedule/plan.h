// A step as a plan: the ordered list of typed actions that a rank does in one training step. Pure data from
// the layout; the executor runs it, the recorder stamps it, and later the simulator prices it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::schedule {

enum class ActionKind : std::uint8_t {
    load,            // take the step's samples from the loader
    forward,         // of a chunk for a micro-batch
    backward,        // likewise; its forward must be done
    optimizer_step,  // norms, clipping, update; all backwards must be done
};

struct Action {
    ActionKind kind = ActionKind::load;
    std::int64_t chunk = 0;          // virtual stage of this rank
    std::int64_t micro_batch = -1;   // -1: of the whole step
    std::vector<std::size_t> after;  // indices of actions that must be done before
};

struct StepLayout {
    std::int64_t micro_batches = 1;
};

// One rank: forward and backward of each micro-batch in turn, so that one micro-batch's activations live at a
// time.
[[nodiscard]] std::vector<Action> make_step_plan(const StepLayout& layout);

[[nodiscard]] std::string_view name_of(ActionKind kind);
// One line an action: "3 backward chunk 0 micro-batch 1 after 2".
[[nodiscard]] std::string text(const std::vector<Action>& plan);

}  // namespace longhaul::schedule
