// What a training run is: every section of a configuration file as plain data with its defaults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/model.h"
#include "tensor/dtype.h"

namespace longhaul::spec {

enum class Recompute { none, selective, full };
enum class OptimizerName { adamw, lamb };
enum class Schedule { constant, cosine, linear, wsd };
enum class Order { shuffled, sequential };

struct Parallel {
    std::int64_t micro_batch = 4;  // sequences in one forward
    Recompute recompute = Recompute::none;
};

struct Train {
    std::int64_t steps = 1000;
    std::int64_t global_batch = 32;  // sequences in a step
    std::int64_t seq =
        0;  // tokens of a training sequence; 0: model.seq, or what a .npy file of batches holds
    std::int64_t seed = 1234;
    DType precision = DType::bf16;
    std::int64_t eval_every = 0;     // steps; 0: only at the end
    std::int64_t eval_batches = 16;  // micro-batches of an evaluation; 0: the whole validation set
    std::int64_t log_every = 1;      // steps between lines on a standard error that is no terminal
    std::int64_t sample_tokens = 0;  // tokens generated after the last step from sample_prompt
    std::string sample_prompt;
    std::string init_from;     // a checkpoint or a Hugging Face folder: weights only
    std::int64_t threads = 0;  // 0: all processors of this process
};

struct Optimizer {
    OptimizerName name = OptimizerName::adamw;
    double lr = 6e-4;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double eps = 1e-8;
    double weight_decay = 0.1;  // on tensors with two or more dimensions
    double grad_clip = 1.0;     // global norm; 0: off
    Schedule schedule = Schedule::cosine;
    std::int64_t warmup = 0;       // steps of linear rise from 0
    double min_lr = 0.0;           // where the schedule ends
    std::int64_t decay_steps = 0;  // cosine, linear: where min_lr is reached, 0 = train.steps; wsd: length of
                                   // the final fall, 0 = a tenth
};

struct WeightedPrefix {
    std::string prefix;
    double weight = 1.0;
    friend bool operator==(const WeightedPrefix&, const WeightedPrefix&) = default;
};

struct Data {
    std::vector<WeightedPrefix> train;  // packed prefixes, or one .npy file of [step, sequence, seq + 1]
    std::vector<WeightedPrefix> validation;
    Order order = Order::shuffled;
    std::string tokenizer;      // copied into checkpoints; needed for text samples
    std::int64_t prefetch = 2;  // steps read ahead by a thread; 0: none
};

struct Checkpoint {
    std::int64_t every = 0;  // steps; 0: only at the end and when interrupted
    std::int64_t keep = 2;   // newest complete checkpoints kept; 0: all
};

struct Fault {
    std::int64_t max_bad_steps =
        5;  // steps in a row with a loss or gradient that is not finite before the run stops
};

struct Observe {
    bool tensorboard = true;
    bool tensor_norms = false;      // gradient norm by tensor at every step, weight norm by tensor at the end
    bool check_invariants = false;  // after each step: weights finite, compute copy equal to rounded masters
};

struct Run {
    Model model;
    Parallel parallel;
    Train train;
    Optimizer optimizer;
    Data data;
    Checkpoint checkpoint;
    Fault fault;
    Observe observe;
};

}  // namespace longhaul::spec
