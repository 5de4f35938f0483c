// Loss over held-out samples.
#pragma once

#include <functional>

#include "data/samples.h"
#include "model/stage.h"

namespace longhaul::train {

struct Evaluation {
    double loss = 0;  // nats a token
    std::int64_t tokens = 0;
    [[nodiscard]] double perplexity() const;
};

// Over the first `max_samples` of a finite source (0: all). geometry: of the stage. `proceed` is asked before
// each micro-batch; where it says no, the evaluation so far is returned.
Evaluation evaluate(model::Stage& stage, const model::Geometry& geometry, const data::SampleSource& source,
                    std::int64_t max_samples, const std::function<bool()>& proceed);

}  // namespace longhaul::train
