// Packed prefixes or one .npy file.
#include "train/sources.h"

#include "base/error.h"
#include "base/file.h"
#include "data/npy_header.h"
#include "spec/validate.h"

namespace longhaul::train {

namespace {

std::vector<data::BlendPart> blend(const std::vector<spec::WeightedPrefix>& parts) {
    std::vector<data::BlendPart> out;
    out.reserve(parts.size());
    for (const spec::WeightedPrefix& part : parts) out.push_back({part.prefix, part.weight});
    return out;
}

data::SampleOptions sample_options(const spec::Run& run) {
    data::SampleOptions options;
    options.sequence = spec::sequence(run);
    options.seed = static_cast<std::uint64_t>(run.train.seed);
    options.order =
        run.data.order == spec::Order::shuffled ? data::SampleOrder::shuffled : data::SampleOrder::sequential;
    options.vocab = run.model.vocab;
    return options;
}

}  // namespace

spec::Run with_sequence(const spec::Run& run) {
    spec::Run resolved = run;
    if (run.train.seq == 0 && spec::trains_on_npy(run.data)) {
        const std::string& path = run.data.train.front().prefix;
        const MappedFile file(path);
        const data::NpyHeader header = data::parse_npy_header(file.bytes(), path);
        // Another rank is refused, with the right words, where the file is opened.
        if (header.shape.size() == 3) resolved.train.seq = header.shape[2] - 1;
        require(resolved.train.seq <= run.model.seq, ErrorCode::bad_config,
                "{} holds sequences of {} tokens, model.seq = {} is shorter", path, resolved.train.seq,
                run.model.seq);
    }
    if (resolved.train.seq == 0) resolved.train.seq = run.model.seq;
    return resolved;
}

std::unique_ptr<data::SampleSource> open_training_data(const spec::Run& run) {
    const data::SampleOptions options = sample_options(run);
    if (spec::trains_on_npy(run.data))
        return data::open_npy(run.data.train.front().prefix, options, run.train.global_batch);
    return data::open_blend(blend(run.data.train), options);
}

std::unique_ptr<data::SampleSource> open_validation_data(const spec::Run& run) {
    if (run.data.validation.empty()) return nullptr;
    return data::open_evaluation(blend(run.data.validation), sample_options(run),
                                 run.train.eval_batches * run.parallel.micro_batch);
}

}  // namespace longhaul::train
