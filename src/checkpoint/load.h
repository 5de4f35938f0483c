// Opening, verifying and finding checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/state.h"
#include "model/layout.h"
#include "spec/run.h"
#include "tensor/shape.h"

namespace longhaul::checkpoint {

struct Manifest;

// What open() compares before it returns.
enum class Check {
    sizes,   // manifest (with its own hash), presence and size of every file, safetensors headers
    hashes,  // also the hash of every file
};

class Checkpoint {
public:
    // Error bad_data lists every fault by file, and by tensor where that can be told.
    [[nodiscard]] static Checkpoint open(const std::filesystem::path& directory, Check check = Check::hashes);
    // What open() would throw for, one sentence each.
    [[nodiscard]] static std::vector<std::string> faults(const std::filesystem::path& directory, Check check);
    Checkpoint(Checkpoint&&) noexcept;
    Checkpoint& operator=(Checkpoint&&) noexcept;
    ~Checkpoint();

    [[nodiscard]] const std::filesystem::path& directory() const;
    [[nodiscard]] const TrainingState& state() const;
    [[nodiscard]] const SpecialTokens& special_tokens() const;
    [[nodiscard]] const std::string& config_toml() const;
    [[nodiscard]] spec::Run run() const;  // config_toml parsed
    [[nodiscard]] const Manifest& manifest() const;

    [[nodiscard]] bool has_optimizer() const;
    // Reads a tensor by global name into exactly its number of values.
    void read_weight(std::string_view name, std::span<float> out) const;
    void read_optimizer(std::string_view kind, std::string_view name, std::span<float> out) const;
    // All tensors of a layout into a flat range of layout.size values (padding is left as it is). Error
    // bad_data lists every tensor that is missing, left over or of another shape.
    void read_weights(const model::Layout& layout, std::span<float> flat) const;
    void read_optimizer(std::string_view kind, const model::Layout& layout, std::span<float> flat) const;

    [[nodiscard]] std::vector<std::filesystem::path> tokenizer_files() const;
    // The one of them that a tokenizer is loaded from: a .json or .model file.
    [[nodiscard]] std::optional<std::filesystem::path> tokenizer() const;

private:
    struct State;
    explicit Checkpoint(std::unique_ptr<State> opened);
    std::unique_ptr<State> opened_;
};

// Every fault of a checkpoint directory as a sentence; empty: whole. Reads all of it.
[[nodiscard]] std::vector<std::string> verify(const std::filesystem::path& directory);

struct Verified {
    std::filesystem::path dir;
    std::vector<std::string> faults;
};
// The same for what a user gives: a checkpoint directory, or every one (complete or not) in a `checkpoints`
// folder or a run directory; faults of `latest` are listed under the folder. Error bad_data where there is
// none to verify.
[[nodiscard]] std::vector<Verified> verify_all(const std::filesystem::path& given);

struct Found {
    std::filesystem::path dir;
    Checkpoint checkpoint;                 // dir, opened and verified by hash
    std::vector<std::string> passed_over;  // what is newer but damaged or missing, each with its reason
    // Where something was passed over: the statement that an older checkpoint is used, and why.
    [[nodiscard]] std::string statement() const;
};

// The newest complete checkpoint of a `checkpoints` folder. nullopt where the folder does not exist, or holds
// nothing but temporaries of saves that never finished. An empty folder, a foreign one, or one with damaged
// checkpoints only is an Error bad_data: never a silent fresh start.
[[nodiscard]] std::optional<Found> newest_complete(const std::filesystem::path& folder);

// A checkpoint directory from what a user gives: itself, a `checkpoints` folder or a run directory (the
// newest complete one in it; what is passed over is logged). Error bad_data says what was looked for.
[[nodiscard]] std::filesystem::path resolve(const std::filesystem::path& given);

}  // namespace longhaul::checkpoint
