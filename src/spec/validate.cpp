// Relations between options.
#include "spec/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace longhaul::spec {

std::vector<std::string> faults(const Run& run) {
    std::vector<std::string> found = faults(run.model);
    auto check = [&](bool fine, std::string sentence) {
        if (!fine) found.push_back(std::move(sentence));
    };
    const std::int64_t global = run.train.global_batch;
    const std::int64_t micro = run.parallel.micro_batch;
    if (global > 0 && micro > 0 && global % micro != 0) {
        check(false,
              fmt::format(
                  "parallel.micro_batch = {} does not divide train.global_batch = {}; nearest that does: {}",
                  micro, global, nearest_divisor(global, micro)));
    }
    check(sequence(run) <= run.model.seq,
          fmt::format("train.seq = {} is longer than model.seq = {}", run.train.seq, run.model.seq));
    check(run.optimizer.min_lr <= run.optimizer.lr,
          fmt::format("optimizer.min_lr = {} is above optimizer.lr = {}: the schedule would rise",
                      run.optimizer.min_lr, run.optimizer.lr));
    if (run.optimizer.schedule == Schedule::cosine || run.optimizer.schedule == Schedule::linear) {
        const std::int64_t end = run.optimizer.decay_steps == 0 ? run.train.steps : run.optimizer.decay_steps;
        check(run.optimizer.warmup <= end,
              fmt::format("optimizer.warmup = {} is longer than the schedule, which ends at step {}",
                          run.optimizer.warmup, end));
    }
    if (run.optimizer.schedule == Schedule::wsd) {
        const std::int64_t fall = wsd_decay_steps(run.optimizer, run.train.steps);
        check(run.optimizer.warmup + fall <= run.train.steps,
              fmt::format("optimizer.warmup = {} and decay_steps = {} do not fit into train.steps = {}",
                          run.optimizer.warmup, fall, run.train.steps));
    }
    const auto npy = [](const WeightedPrefix& part) { return part.prefix.ends_with(".npy"); };
    check(run.data.train.size() <= 1 || std::none_of(run.data.train.begin(), run.data.train.end(), npy),
          "data.train: a .npy file of batches can't be blended; give it alone");
    check(std::none_of(run.data.validation.begin(), run.data.validation.end(), npy),
          "data.validation takes packed prefixes, not a .npy file; pack the text with `longhaul data pack`");
    check(run.train.sample_tokens == 0 || !run.data.tokenizer.empty(),
          "train.sample_tokens needs data.tokenizer to turn tokens into text");
    return found;
}

std::int64_t sequence(const Run& run) {
    return run.train.seq == 0 ? run.model.seq : run.train.seq;
}

std::int64_t wsd_decay_steps(const Optimizer& optimizer, std::int64_t steps) {
    return optimizer.decay_steps == 0 ? std::max<std::int64_t>(1, steps / 10) : optimizer.decay_steps;
}

std::int64_t micro_batches(const Run& run) {
    return div_exact(run.train.global_batch, run.parallel.micro_batch);
}

bool trains_on_npy(const Data& data) {
    return data.train.size() == 1 && data.train.front().prefix.ends_with(".npy");
}

}  // namespace longhaul::spec
