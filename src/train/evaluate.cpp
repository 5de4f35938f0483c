// Micro-batches of samples, the last one filled up with ignored ones.
#include "train/evaluate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/executor.h"

namespace longhaul::train {

double Evaluation::perplexity() const {
    return std::exp(loss);
}

Evaluation evaluate(model::Stage& stage, const model::Geometry& geometry, const data::SampleSource& source,
                    std::int64_t max_samples, const std::function<bool()>& proceed) {
    require(source.size().has_value() || max_samples > 0, ErrorCode::internal, "an evaluation needs an end");
    std::int64_t count = source.size().value_or(max_samples);
    if (max_samples > 0) count = std::min(count, max_samples);
    require(count > 0, ErrorCode::bad_data, "the evaluation data holds no sample of {} tokens", geometry.seq);

    std::vector<std::int32_t> samples(static_cast<std::size_t>(geometry.sequences * (geometry.seq + 1)));
    std::vector<std::int32_t> inputs(static_cast<std::size_t>(geometry.tokens()));
    std::vector<std::int32_t> targets(inputs.size());
    Evaluation result;
    double sum = 0;
    for (std::int64_t first = 0; first < count && (!proceed || proceed()); first += geometry.sequences) {
        std::fill(samples.begin(), samples.end(), -1);
        const std::int64_t taken = std::min(geometry.sequences, count - first);
        for (std::int64_t s = 0; s < taken; ++s) {
            source.read(first + s,
                        std::span(samples).subspan(static_cast<std::size_t>(s * (geometry.seq + 1)),
                                                   static_cast<std::size_t>(geometry.seq + 1)));
        }
        result.tokens += split_samples(samples, geometry.seq, inputs, targets);
        sum += stage.evaluate({inputs, targets});
    }
    if (result.tokens > 0) result.loss = sum / static_cast<double>(result.tokens);
    return result;
}

}  // namespace longhaul::train
