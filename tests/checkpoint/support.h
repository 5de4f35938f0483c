// What the tests of checkpoints share: a scratch directory, a tiny model with its state, bytes of files.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/load.h"
#include "checkpoint/save.h"
#include "spec/config.h"

namespace longhaul::checkpoint::testing {

namespace fs = std::filesystem;

// A directory of its own that vanishes with the object.
class Scratch {
public:
    Scratch() {
        // In memory where there is such a place: hundreds of fsyncs take long on a disk.
        const fs::path memory = "/dev/shm";
        const bool fits = ::access(memory.c_str(), W_OK) == 0;
        std::string pattern = ((fits ? memory : fs::temp_directory_path()) / "longhaul-test-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
        path_ = pattern;
    }
    ~Scratch() {
        std::error_code error;
        fs::remove_all(path_, error);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    [[nodiscard]] fs::path operator/(const std::string& name) const { return path_ / name; }
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

// A model of odd sizes with values that tell step, tensor range and index apart.
struct Tiny {
    spec::Run run;
    model::Layout layout;
    std::vector<float> weights, m, v;
    TrainingState state;

    explicit Tiny(std::int64_t step) {
        run.model.layers = 1;
        run.model.hidden = 6;
        run.model.heads = 2;
        run.model.vocab = 33;
        run.model.seq = 7;
        layout = model::make_layout(run.model);
        const auto fill = [&](std::vector<float>& values, float start) {
            values.resize(static_cast<std::size_t>(layout.size));
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = start + static_cast<float>(step) + static_cast<float>(i) / 1024.0F;
        };
        fill(weights, 1000.0F);
        fill(m, -2000.0F);
        fill(v, 0.5F);
        state.step = step;
        state.updates = step - 1;
        state.samples = 32 * step;
        state.tokens = 224 * step;
        state.bad_steps_total = 1;
        state.data_fingerprint = 0xFEDCBA9876543210U;
        state.best_loss = 3.1415926535897931;
    }

    [[nodiscard]] SaveRequest request() const {
        SaveRequest r;
        r.state = state;
        r.config_toml = spec::to_toml(run);
        r.weights = saved_tensors(layout, weights);
        r.optimizer = {{"m", saved_tensors(layout, m)}, {"v", saved_tensors(layout, v)}};
        return r;
    }

    // Tensor by tensor and bit by bit, padding aside.
    void expect_equal(const Checkpoint& checkpoint) const {
        EXPECT_EQ(checkpoint.state(), state);
        const auto compare = [&](const std::vector<float>& mine, const std::vector<float>& theirs) {
            for (const model::GlobalTensor& tensor : layout.tensors) {
                const auto at = static_cast<std::ptrdiff_t>(tensor.offset);
                EXPECT_TRUE(
                    std::equal(mine.begin() + at, mine.begin() + at + tensor.count(), theirs.begin() + at))
                    << tensor.name;
            }
        };
        std::vector<float> read(static_cast<std::size_t>(layout.size));
        checkpoint.read_weights(layout, read);
        compare(weights, read);
        checkpoint.read_optimizer("m", layout, read);
        compare(m, read);
        checkpoint.read_optimizer("v", layout, read);
        compare(v, read);
    }
};

inline void write_file(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

inline void flip_bit(const fs::path& path, std::size_t byte, unsigned bit = 0) {
    std::string text = read_file(path);
    ASSERT_LT(byte, text.size());
    text[byte] = static_cast<char>(text[byte] ^ (1 << bit));
    write_file(path, text);
}

// The error that a call ends with; fails the test where there is none, or of another code.
template <typename Call>
std::string error_of(ErrorCode code, Call call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

// Every file under a directory with its bytes.
inline std::vector<std::pair<std::string, std::string>> contents(const fs::path& directory) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        if (entry.is_regular_file())
            all.emplace_back(fs::relative(entry.path(), directory).string(), read_file(entry.path()));
    }
    std::sort(all.begin(), all.end());
    return all;
}

inline std::vector<std::string> names_in(const fs::path& directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace longhaul::checkpoint::testing
