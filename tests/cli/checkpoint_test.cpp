// import, export and checkpoint inspect|verify as a user runs them: exit statuses, what is printed where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

struct Result {
    int status = -1;
    std::string out;
    std::string err;
};

class CheckpointCommand : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "longhaul-cli-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        scratch = pattern;
    }
    void TearDown() override { fs::remove_all(scratch); }

    [[nodiscard]] Result run(const std::string& arguments) const {
        const fs::path err = scratch / "stderr.txt";
        const std::string command = std::string(LONGHAUL_BINARY) + " " + arguments + " 2>" + err.string();
        Result result;
        FILE* pipe = ::popen(command.c_str(), "r");
        if (pipe == nullptr) return result;
        char buffer[4096];
        for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
            result.out.append(buffer, n);
        const int status = ::pclose(pipe);
        result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        result.err = longhaul::read_file(err);
        return result;
    }
    [[nodiscard]] std::string at(const std::string& name) const { return (scratch / name).string(); }
    [[nodiscard]] static std::string fixture(const std::string& name) {
        return std::string(LONGHAUL_FIXTURES) + "/" + name;
    }

    fs::path scratch;
};

TEST_F(CheckpointCommand, import_inspect_verify_export) {
    const Result imported = run("import " + fixture("llama-tiny") + " --out " + at("deep/c/"));
    EXPECT_EQ(imported.status, 0) << imported.err;
    EXPECT_THAT(imported.out, HasSubstr("imported 250432 parameters in 39 tensors"));

    const Result inspected = run("checkpoint inspect " + at("deep/c") + " --json");
    EXPECT_EQ(inspected.status, 0) << inspected.err;
    const Json json = Json::parse(inspected.out);
    EXPECT_EQ(json.at("parameters"), 250432);
    EXPECT_EQ(json.at("step"), 0);
    EXPECT_EQ(json.at("has_optimizer"), false);
    EXPECT_EQ(json.at("tensors").size(), 39U);
    EXPECT_EQ(json.at("files").at(0).at("name"), "model-00000.safetensors");
    EXPECT_THAT(run("checkpoint inspect " + at("deep/c")).out, HasSubstr("layers.3.attention.q.weight"));

    const Result verified = run("checkpoint verify " + at("deep/c") + " --json");
    EXPECT_EQ(verified.status, 0);
    EXPECT_EQ(Json::parse(verified.out).at("whole"), true);

    const Result exported =
        run("export " + at("deep/c") + " --out " + at("hf") + " --dtype bf16 --max-shard-size 100KB --json");
    EXPECT_EQ(exported.status, 0) << exported.err;
    EXPECT_EQ(Json::parse(exported.out).at("dtype"), "bf16");
    EXPECT_TRUE(fs::exists(at("hf/model.safetensors.index.json")));
    const Json config = Json::parse(longhaul::read_file(at("hf/config.json")));
    EXPECT_EQ(config.at("torch_dtype"), "bfloat16");
    EXPECT_EQ(config.at("bos_token_id"), 1);  // kept from the imported folder
    EXPECT_EQ(config.at("eos_token_id"), 2);
    EXPECT_EQ(run("import " + at("hf") + " --out " + at("again")).status, 0);
}

TEST_F(CheckpointCommand, damage_has_exit_status_3_and_a_name) {
    ASSERT_EQ(run("import " + fixture("gpt2-tiny") + " --out " + at("c")).status, 0);
    const std::string file = at("c/model-00000.safetensors");
    std::string text = longhaul::read_file(file);
    text.back() = static_cast<char>(text.back() ^ 1);
    std::ofstream(file, std::ios::binary) << text;
    const Result verified = run("checkpoint verify " + at("c"));
    EXPECT_EQ(verified.status, 3);
    EXPECT_THAT(verified.out, HasSubstr("tensor final_norm.bias is damaged"));
    const Result json = run("checkpoint verify --json " + at("c"));
    EXPECT_EQ(json.status, 3);
    EXPECT_EQ(Json::parse(json.out).at("whole"), false);
    const Result exported = run("export " + at("c") + " --out " + at("hf"));
    EXPECT_EQ(exported.status, 3);
    EXPECT_THAT(exported.err, HasSubstr("final_norm.bias is damaged"));
    EXPECT_EQ(exported.out, "");
    EXPECT_FALSE(fs::exists(at("hf")));
}

TEST_F(CheckpointCommand, wrong_use) {
    EXPECT_EQ(run("import " + fixture("gpt2-tiny")).status, 2);  // --out is missing
    EXPECT_EQ(run("import " + at("nowhere") + " --out " + at("c")).status, 3);
    EXPECT_EQ(run("checkpoint inspect " + at("nowhere")).status, 3);
    EXPECT_EQ(run("checkpoint verify " + scratch.string()).status, 3);
    EXPECT_EQ(run("checkpoint").status, 2);
    fs::create_directories(at("mine"));
    std::ofstream(at("mine/thesis.txt")) << "x";
    for (const char* force : {"", " --force"}) {
        const Result refused = run("import " + fixture("gpt2-tiny") + " --out " + at("mine") + force);
        EXPECT_EQ(refused.status, 2);
        EXPECT_TRUE(fs::exists(at("mine/thesis.txt")));
    }
    ASSERT_EQ(run("import " + fixture("gpt2-tiny") + " --out " + at("c")).status, 0);
    const Result again = run("import " + fixture("llama-tiny") + " --out " + at("c"));
    EXPECT_EQ(again.status, 2);
    EXPECT_THAT(again.err, HasSubstr("--force"));
    EXPECT_EQ(run("import " + fixture("llama-tiny") + " --out " + at("c") + " --force").status, 0);
    EXPECT_THAT(run("checkpoint inspect " + at("c")).out, HasSubstr("250432 parameters"));
    EXPECT_EQ(run("export " + at("c") + " --out " + at("hf") + " --dtype int8").status, 2);
    EXPECT_EQ(run("export " + at("c") + " --out " + at("hf") + " --max-shard-size 5XB").status, 2);
    EXPECT_EQ(run("export " + at("c") + " --out " + at("hf") + " --max-shard-size 0").status, 2);
    // A Hugging Face folder where a checkpoint is asked for.
    const Result folder = run("checkpoint inspect " + fixture("gpt2-tiny"));
    EXPECT_EQ(folder.status, 3);
    EXPECT_THAT(folder.err, HasSubstr("longhaul import"));
}

}  // namespace
