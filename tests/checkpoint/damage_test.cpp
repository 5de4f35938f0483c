// Every kind of damage to a checkpoint is detected, named, and never silently passed over.
#include <gmock/gmock.h>

#include <random>

#include "checkpoint/manifest.h"
#include "support.h"

namespace longhaul::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::contents;
using ::testing::ElementsAre;
using testing::error_of;
using testing::flip_bit;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Scratch;
using testing::Tiny;
using testing::write_file;

// Steps 10 and 20, both whole.
class Damage : public ::testing::Test {
protected:
    void SetUp() override {
        save(folder, Tiny(10).request());
        save(folder, Tiny(20).request());
    }
    // The newest one can't be opened, its fault is named, and the older one is used with a statement.
    void expect_passed_over(const std::string& fault) {
        EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)Checkpoint::open(newest); }), HasSubstr(fault));
        EXPECT_THAT(verify(newest), ::testing::Contains(HasSubstr(fault)));
        const auto found = newest_complete(folder);
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->dir, folder / "step-00000010");
        Tiny(10).expect_equal(found->checkpoint);
        EXPECT_THAT(found->passed_over, ElementsAre(HasSubstr(fault)));
        EXPECT_THAT(found->statement(), HasSubstr("older checkpoint"));
        EXPECT_THAT(found->statement(), HasSubstr(fault));
        EXPECT_EQ(resolve(folder), folder / "step-00000010");
        fs::remove_all(folder / "step-00000010");
        const std::string error = error_of(ErrorCode::bad_data, [&] { (void)newest_complete(folder); });
        EXPECT_THAT(error, HasSubstr("holds no usable checkpoint"));
        EXPECT_THAT(error, HasSubstr(fault));
    }
    const Scratch scratch;
    const fs::path folder = scratch / "checkpoints";
    const fs::path newest = folder / "step-00000020";
};

TEST_F(Damage, rel_C9_flipped_bit_is_named) {
    // In the last tensor of the file.
    const fs::path file = newest / "optimizer-00000.safetensors";
    flip_bit(file, fs::file_size(file) - 1, 7);
    expect_passed_over("optimizer-00000.safetensors: tensor final_norm.bias (optimizer's v) is damaged");
}

TEST_F(Damage, rel_C10_truncated_by_one_byte) {
    const fs::path file = newest / "model-00000.safetensors";
    fs::resize_file(file, fs::file_size(file) - 1);
    expect_passed_over("it was cut short");
}

TEST_F(Damage, rel_C10_random_bytes_in_the_middle) {
    const fs::path file = newest / "model-00000.safetensors";
    std::string text = read_file(file);
    std::mt19937 random(1);
    for (std::size_t i = text.size() / 2; i < text.size() / 2 + 64; ++i)
        text[i] = static_cast<char>(random());
    write_file(file, text);
    expect_passed_over("is damaged");
}

TEST_F(Damage, grown_file) {
    write_file(newest / "model-00000.safetensors", read_file(newest / "model-00000.safetensors") + "x");
    expect_passed_over("written to later");
}

TEST_F(Damage, rel_C2_zero_length_shard) {
    write_file(newest / "model-00000.safetensors", "");
    expect_passed_over("model-00000.safetensors has 0 bytes");
}

TEST_F(Damage, missing_shard) {
    fs::remove(newest / "optimizer-00000.safetensors");
    expect_passed_over("optimizer-00000.safetensors is missing");
}

TEST_F(Damage, shard_is_a_directory) {
    fs::remove(newest / "optimizer-00000.safetensors");
    fs::create_directory(newest / "optimizer-00000.safetensors");
    expect_passed_over("is not a regular file");
}

TEST_F(Damage, rel_C18_missing_manifest_with_full_data) {
    fs::remove(newest / "manifest.json");
    expect_passed_over("has no manifest.json");
}

TEST_F(Damage, empty_manifest) {
    write_file(newest / "manifest.json", "");
    expect_passed_over("manifest.json: it is empty");
}

TEST_F(Damage, manifest_is_not_json) {
    write_file(newest / "manifest.json", "step: 20\n");
    expect_passed_over("manifest.json: it does not end with its hash");
}

TEST_F(Damage, B3_empty_step_directory_does_not_win) {
    fs::remove_all(newest);
    fs::create_directory(newest);
    expect_passed_over("has no manifest.json");
}

TEST_F(Damage, step_directory_under_another_name) {
    fs::rename(newest, folder / "step-00000030");
    const auto found = newest_complete(folder);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->checkpoint.state().step, 10);
    EXPECT_THAT(found->passed_over, ElementsAre(HasSubstr("latest names step-00000020, which is not there"),
                                                HasSubstr("is named after step 30 but holds step 20")));
}

TEST_F(Damage, swapped_files_of_two_checkpoints) {
    fs::copy_file(folder / "step-00000010/model-00000.safetensors", newest / "model-00000.safetensors",
                  fs::copy_options::overwrite_existing);
    expect_passed_over("model-00000.safetensors: its hash is not the manifest's");
}

TEST_F(Damage, verify_names_every_fault) {
    flip_bit(newest / "model-00000.safetensors", fs::file_size(newest / "model-00000.safetensors") - 1);
    fs::remove(newest / "optimizer-00000.safetensors");
    const std::vector<std::string> faults = verify(newest);
    EXPECT_THAT(faults, ::testing::Contains(HasSubstr("tensor final_norm.bias is damaged")));
    EXPECT_THAT(faults, ::testing::Contains(HasSubstr("optimizer-00000.safetensors is missing")));
    const std::vector<Verified> all = verify_all(scratch.path());
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].dir, newest);
    EXPECT_EQ(all[0].faults, faults);
    EXPECT_THAT(all[1].faults, IsEmpty());
}

TEST_F(Damage, latest_damage_is_stated) {
    for (const char* text : {"", "step-00000099\n", "../../etc\n", "step-20\n", "\0\xFF"}) {
        write_file(folder / "latest", text);
        const auto found = newest_complete(folder);
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->dir, newest);
        ASSERT_EQ(found->passed_over.size(), 1U) << text;
        EXPECT_THAT(found->passed_over[0], HasSubstr("latest names"));
        EXPECT_EQ(verify_all(folder).size(), 3U);
    }
    // Without it (the save was killed just before) nothing is lost.
    fs::remove(folder / "latest");
    EXPECT_THAT(newest_complete(folder)->passed_over, IsEmpty());
}

// No single flipped bit anywhere in a checkpoint goes unseen. Every byte of the manifest, a stride through
// the rest.
TEST(Checkpoint, rel_C9_no_flipped_bit_is_missed) {
    const Scratch scratch;
    const Tiny tiny(3);
    SaveRequest request = tiny.request();
    write_file(scratch / "tokenizer.json", "{\"a\": 1}");
    request.tokenizer_files = {scratch / "tokenizer.json"};
    save_as(scratch / "c", request);
    std::mt19937 random(2);
    for (const auto& [name, text] : contents(scratch / "c")) {
        const std::size_t stride = name.ends_with(".safetensors") ? 97 : 41;
        for (std::size_t byte = 0; byte < text.size(); byte += stride) {
            std::string flipped = text;
            flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << (random() % 8)));
            write_file(scratch / ("c/" + name), flipped);
            const std::vector<std::string> faults = verify(scratch / "c");
            ASSERT_FALSE(faults.empty()) << name << " byte " << byte;
            EXPECT_THAT(faults.front(), HasSubstr(name));
        }
        write_file(scratch / ("c/" + name), text);
    }
    EXPECT_THAT(verify(scratch / "c"), IsEmpty());
}

TEST(Checkpoint, rel_C10_every_truncation_is_seen) {
    const Scratch scratch;
    save_as(scratch / "c", Tiny(3).request());
    for (const auto& [name, text] : contents(scratch / "c")) {
        for (std::size_t size = 0; size < text.size(); size += 61) {
            write_file(scratch / ("c/" + name), text.substr(0, size));
            ASSERT_FALSE(verify(scratch / "c").empty()) << name << " at " << size;
        }
        write_file(scratch / ("c/" + name), text);
    }
}

TEST(NewestComplete, B3_empty_or_foreign_folders_are_errors) {
    const Scratch scratch;
    EXPECT_FALSE(newest_complete(scratch / "missing").has_value());
    fs::create_directory(scratch / "empty");
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)newest_complete(scratch / "empty"); }),
                HasSubstr("is empty"));
    fs::create_directory(scratch / "foreign");
    write_file(scratch / "foreign/pytorch_model.bin", "x");
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)newest_complete(scratch / "foreign"); }),
                HasSubstr("other things (pytorch_model.bin)"));
    // Names that only look like ours.
    fs::create_directories(scratch / "near/step-20");
    fs::create_directories(scratch / "near/step-00000020.bak");
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)newest_complete(scratch / "near"); }),
                HasSubstr("step-20"));
    fs::create_directory(scratch / "latest-only");
    write_file(scratch / "latest-only/latest", "step-00000007\n");
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)newest_complete(scratch / "latest-only"); }),
                HasSubstr("which is not there"));
    write_file(scratch / "file", "x");
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)newest_complete(scratch / "file"); }),
                HasSubstr("cannot read the folder"));
    // Temporaries of saves that never finished are a run that never saved.
    fs::create_directories(scratch / "begun/.step-00000010.tmp-123");
    EXPECT_FALSE(newest_complete(scratch / "begun").has_value());
    write_file(scratch / "begun/latest", "step-00000010\n");
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { (void)newest_complete(scratch / "begun"); }),
                HasSubstr("step-00000010"));
}

TEST(Resolve, takes_a_checkpoint_a_folder_or_a_run) {
    const Scratch scratch;
    const fs::path folder = scratch / "run/checkpoints";
    save(folder, Tiny(1).request());
    save(folder, Tiny(2).request());
    EXPECT_EQ(resolve(scratch / "run"), folder / "step-00000002");
    EXPECT_EQ(resolve(folder), folder / "step-00000002");
    EXPECT_EQ(resolve(folder / "step-00000001"), folder / "step-00000001");
    EXPECT_EQ(resolve(folder / "step-00000001/"), folder / "step-00000001/");
    const auto refused = [](const fs::path& path) {
        return error_of(ErrorCode::bad_data, [&] { (void)resolve(path); });
    };
    EXPECT_THAT(refused(scratch / "missing"), HasSubstr("is not a directory"));
    EXPECT_THAT(refused(scratch.path()), HasSubstr("is neither a checkpoint"));
    fs::remove(folder / "step-00000001/manifest.json");
    EXPECT_THAT(refused(folder / "step-00000001/"), HasSubstr("its save did not finish"));
    fs::create_directories(scratch / "hf");
    write_file(scratch / "hf/config.json", "{}");
    EXPECT_THAT(refused(scratch / "hf"), HasSubstr("longhaul import"));
    fs::create_directories(scratch / "begun/checkpoints/.step-00000010.tmp-123");
    EXPECT_THAT(refused(scratch / "begun"), HasSubstr("no save of this run has finished"));
}

// Content that a manifest's own hash does not guard against: whoever wrote it, names must stay inside.
class ManifestText : public ::testing::Test {
protected:
    static Manifest small() {
        Manifest manifest;
        manifest.state.step = 3;
        manifest.config_toml = "a = \"\\u001b\"\n";
        manifest.files = {{"model-00000.safetensors", 12, 0xFFFFFFFFFFFFFFFFU}};
        manifest.tensors = {
            {"weight", "w", "F32", {2, 3}, {{"model-00000.safetensors", "w", {0, 0}, {2, 3}, 1}}}};
        return manifest;
    }
    static std::string refusal(const Manifest& manifest) {
        return error_of(ErrorCode::bad_data, [&] { (void)parse_manifest(manifest_text(manifest), "m"); });
    }
};

TEST_F(ManifestText, round_trip) {
    const Manifest manifest = small();
    const std::string text = manifest_text(manifest);
    EXPECT_EQ(text, manifest_text(manifest));
    const Manifest read = parse_manifest(text, "m");
    EXPECT_EQ(manifest_text(read), text);
    EXPECT_EQ(read.state, manifest.state);
    EXPECT_EQ(read.files[0].hash, 0xFFFFFFFFFFFFFFFFU);
}

TEST_F(ManifestText, refuses_names_that_lead_out) {
    for (const char* name : {"../x", "/etc/passwd", "a/../../b", "", "./a", "a//../b"}) {
        Manifest manifest = small();
        manifest.files.push_back({name, 1, 1});
        EXPECT_THAT(refusal(manifest), HasSubstr("leads out")) << name;
    }
}

TEST_F(ManifestText, refuses_contradictions) {
    Manifest manifest = small();
    manifest.files.push_back(manifest.files[0]);
    EXPECT_THAT(refusal(manifest), HasSubstr("listed twice"));
    manifest = small();
    manifest.tensors.push_back(manifest.tensors[0]);
    EXPECT_THAT(refusal(manifest), HasSubstr("tensor w (weight) is listed twice"));
    manifest = small();
    manifest.tensors[0].slices[0].file = "other";
    EXPECT_THAT(refusal(manifest), HasSubstr("not in the list of files"));
    manifest = small();
    manifest.tensors[0].slices[0].start = {1, 0};
    EXPECT_THAT(refusal(manifest), HasSubstr("can't join"));
    manifest = small();
    manifest.tensors[0].slices.clear();
    EXPECT_THAT(refusal(manifest), HasSubstr("can't join"));
    manifest = small();
    manifest.tensors[0].shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
    EXPECT_THAT(refusal(manifest), HasSubstr("too many elements"));
    manifest = small();
    manifest.state.step = -1;
    EXPECT_THAT(refusal(manifest), HasSubstr("state.step is not a whole number"));
}

TEST(Checkpoint, manifest_and_files_that_disagree) {
    // Both are whole by their hashes, but tell different things.
    const Scratch scratch;
    save_as(scratch / "c", Tiny(3).request());
    const fs::path path = scratch / "c/manifest.json";
    const Manifest original = parse_manifest(read_file(path), "m");
    const auto faults_with = [&](auto change) {
        Manifest manifest = original;
        change(manifest);
        write_file(path, manifest_text(manifest));
        return verify(scratch / "c");
    };
    EXPECT_THAT(faults_with([](Manifest& m) { m.tensors[0].slices[0].key = "x"; }),
                ElementsAre(HasSubstr("embedding.tokens.weight is not in it")));
    EXPECT_THAT(faults_with([](Manifest& m) { m.tensors[0].dtype = "BF16"; }),
                ElementsAre(HasSubstr("is F32 [33, 6], the manifest says BF16 [33, 6]")));
    EXPECT_THAT(faults_with([](Manifest& m) { m.tensors[0].name = "embedding.nothing.weight"; }),
                ElementsAre(HasSubstr("embedding.tokens.weight is missing"),
                            HasSubstr("embedding.nothing.weight is in no layer")));
    EXPECT_THAT(faults_with([](Manifest& m) { m.config_toml = "[model]\nlayers = -1\n"; }),
                ElementsAre(HasSubstr("its configuration can't be used")));
    EXPECT_THAT(faults_with([](Manifest& m) { m.config_toml = "= ["; }),
                ElementsAre(HasSubstr("its configuration can't be used")));
    EXPECT_THAT(faults_with([](Manifest&) {}), IsEmpty());
}

}  // namespace
}  // namespace longhaul::checkpoint
