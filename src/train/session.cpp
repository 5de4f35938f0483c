// Opens what a user names: our checkpoints or a Hugging Face folder.
#include "train/session.h"

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/load.h"
#include "kernels/kernels.h"
#include "spec/options.h"

namespace longhaul::train {

namespace {

void require_same_model(const spec::Model& theirs, const spec::Model& ours, const std::string& where) {
    const model::Layout given = model::make_layout(theirs);
    const model::Layout wanted = model::make_layout(ours);
    std::vector<std::string> differences;
    for (const model::GlobalTensor& tensor : wanted.tensors) {
        const model::GlobalTensor* found = given.find(tensor.name);
        if (found == nullptr) {
            differences.push_back(fmt::format("{} is not there", tensor.name));
        } else if (found->shape != tensor.shape) {
            differences.push_back(
                fmt::format("{} is {}, not {}", tensor.name, found->shape.text(), tensor.shape.text()));
        }
    }
    if (given.tensors.size() > wanted.tensors.size()) {
        differences.push_back(
            fmt::format("it has {} tensors, the model {}", given.tensors.size(), wanted.tensors.size()));
    }
    require(differences.empty(), ErrorCode::bad_config,
            "the weights of {} are of another model than [model] says:\n  {}", where,
            fmt::join(differences, "\n  "));
    // Tensors alone don't tell these apart, and the outputs would be silently wrong.
    const auto same = [&](auto a, auto b, const char* option) {
        require(a == b, ErrorCode::bad_config, "model.{} is {} here and {} in {}", option, b, a, where);
    };
    same(theirs.heads, ours.heads, "heads");
    same(theirs.kv(), ours.kv(), "kv_heads");
    same(theirs.window, ours.window, "window");
    same(theirs.parallel_block, ours.parallel_block, "parallel_block");
    same(theirs.rotary_dim(), ours.rotary_dim(), "rotary_fraction");
    if (ours.positions == spec::Positions::rope) same(theirs.rope_theta, ours.rope_theta, "rope_theta");
    same(static_cast<float>(theirs.norm_eps), static_cast<float>(ours.norm_eps), "norm_eps");
}

}  // namespace

void read_weights(const std::filesystem::path& given, const spec::Model& model,
                  const model::Parameters& parameters) {
    if (checkpoint::is_hugging_face(given)) {
        require_same_model(checkpoint::read_hf_config(given).model, model, given.string());
        checkpoint::read_hf_weights(given, model, parameters.layout(), parameters.masters());
        return;
    }
    const auto saved = checkpoint::Checkpoint::open(checkpoint::resolve(given));
    require_same_model(saved.run().model, model, given.string());
    saved.read_weights(parameters.layout(), parameters.masters());
}

Session open_session(const std::filesystem::path& given, DType precision) {
    Session session;
    session.ledger = std::make_unique<MemoryLedger>();
    session.device = std::make_unique<kernels::Device>(kernels::Device::cpu(session.ledger.get()));
    const auto make_parameters = [&](const spec::Model& model) {
        session.model = std::make_unique<spec::Model>(model);
        session.parameters =
            std::make_unique<model::Parameters>(model, precision, model::Gradients::no, session.ledger.get());
    };
    if (checkpoint::is_hugging_face(given)) {
        make_parameters(checkpoint::read_hf_config(given).model);
        checkpoint::read_hf_weights(given, *session.model, session.parameters->layout(),
                                    session.parameters->masters());
        session.source = given.string();
        for (const auto& file : checkpoint::hf_tokenizer_files(given)) {
            if (file.filename() == "tokenizer.json" || file.filename() == "tokenizer.model") {
                session.tokenizer = file.string();
                break;
            }
        }
    } else {
        const auto saved = checkpoint::Checkpoint::open(checkpoint::resolve(given));
        make_parameters(saved.run().model);
        saved.read_weights(session.parameters->layout(), session.parameters->masters());
        session.source = saved.directory().string();
        session.step = saved.state().step;
        if (const auto tokenizer = saved.tokenizer()) session.tokenizer = tokenizer->string();
        // Raw bytes have no file to keep with the checkpoint.
        if (session.tokenizer.empty() && saved.run().data.tokenizer == "bytes") session.tokenizer = "bytes";
    }
    session.parameters->refresh_copies(*session.device);
    return session;
}

std::unique_ptr<data::Tokenizer> open_tokenizer(const Session& session, const std::string& given) {
    const std::string name = given.empty() ? session.tokenizer : given;
    require(!name.empty(), ErrorCode::bad_config, "{} has no tokenizer with it; name one by --tokenizer",
            session.source);
    auto tokenizer = data::load_tokenizer(name);
    require(tokenizer->vocab_size() <= session.model->vocab, ErrorCode::bad_config,
            "the tokenizer {} has {} tokens, the model only {}", name, tokenizer->vocab_size(),
            session.model->vocab);
    return tokenizer;
}

}  // namespace longhaul::train
