// A model ready to compute: ledger, device, parameters, from a checkpoint or a Hugging Face folder. What
// evaluation and generation share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/tokenizer.h"
#include "model/parameters.h"
#include "spec/run.h"

namespace longhaul::train {

struct Session {
    std::unique_ptr<MemoryLedger> ledger;
    std::unique_ptr<kernels::Device> device;
    std::unique_ptr<spec::Model> model;
    std::unique_ptr<model::Parameters> parameters;
    std::string source;     // the checkpoint that was opened
    std::string tokenizer;  // of the checkpoint; empty where it has none
    std::int64_t step = 0;
};

// `given`: a checkpoint, a folder of checkpoints, a run directory (the newest complete checkpoint, said in
// the log) or a Hugging Face folder.
Session open_session(const std::filesystem::path& given, DType precision);

// The tokenizer named by the user, else the session's; Error bad_config where there is neither, or where its
// vocabulary is larger than the model's.
std::unique_ptr<data::Tokenizer> open_tokenizer(const Session& session, const std::string& given);

// Weights only, from a checkpoint or a Hugging Face folder, into parameters of the same model.
void read_weights(const std::filesystem::path& given, const spec::Model& model,
                  const model::Parameters& parameters);

}  // namespace longhaul::train
