// Where a run writes: paths of its files, and a lock so that one trainer at a time does.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/file.h"

namespace longhaul::observe {

class RunDirectory {
public:
    // Makes the directory where it is missing and locks it until the object goes. Error bad_config names the
    // process that holds the lock, or says why the directory can't be made.
    static RunDirectory create(const std::filesystem::path& root);

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }
    [[nodiscard]] std::filesystem::path config() const { return root_ / "config.toml"; }
    [[nodiscard]] std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
    [[nodiscard]] std::filesystem::path events() const { return root_ / "events.jsonl"; }
    [[nodiscard]] std::filesystem::path tensor_norms() const { return root_ / "tensor_norms.jsonl"; }
    [[nodiscard]] std::filesystem::path peak() const { return root_ / "peak.json"; }
    // Made by the first save: a folder of checkpoints without any is an error when a run begins.
    [[nodiscard]] std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }
    [[nodiscard]] std::filesystem::path tensorboard() const { return root_ / "tensorboard"; }
    [[nodiscard]] std::filesystem::path log(std::int64_t rank) const;

private:
    std::filesystem::path root_;
    FileDescriptor lock_;
};

}  // namespace longhaul::observe
