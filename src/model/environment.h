// What every layer of a micro-batch needs, passed down instead of kept globally.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/kernels.h"
#include "model/parameters.h"
#include "spec/model.h"

namespace longhaul::model {

// The tokens of a micro-batch: sequences x seq, sample-major.
struct Geometry {
    std::int64_t sequences = 0;
    std::int64_t seq = 0;
    [[nodiscard]] std::int64_t tokens() const { return sequences * seq; }
};

// Where in the run a micro-batch stands: what dropout masks are keyed by. probability 0: evaluation.
struct Occasion {
    double dropout = 0.0;
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    std::int64_t first_sample = 0;  // number of its first sequence within the global batch
};

struct Environment {
    const kernels::Device& device;
    const spec::Model& model;
    const Parameters& parameters;
    ConstTensorView rope;  // fp32 [seq, rotary_dim], empty for learned positions
    Geometry geometry;
    Occasion occasion;

    // The mask of one site, "layers.3.mlp" say.
    [[nodiscard]] kernels::Dropout mask(std::string_view site) const;
};

// Sites of dropout in a block, with its index.
[[nodiscard]] std::string site_name(std::int64_t block, std::string_view part);

}  // namespace longhaul::model
