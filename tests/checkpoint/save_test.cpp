// Saving and loading: what comes back, what is left when saving fails, what retention removes.
#include "checkpoint/save.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/manifest.h"
#include "support.h"

namespace longhaul::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::contents;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::names_in;
using testing::Scratch;
using testing::Tiny;
using testing::write_file;

TEST(Save, everything_comes_back_bit_for_bit) {
    const Scratch scratch;
    Tiny tiny(100);
    tiny.weights[3] = -0.0F;
    SaveRequest request = tiny.request();
    request.special_tokens = {5, {6, 7}};
    write_file(scratch / "tokenizer.json", "{\"model\":1}");
    write_file(scratch / "merges.txt", "");
    request.tokenizer_files = {scratch / "merges.txt", scratch / "tokenizer.json"};
    const fs::path folder = scratch / "run/checkpoints";
    const fs::path saved = save(folder, request);
    EXPECT_EQ(saved, folder / "step-00000100");
    EXPECT_THAT(names_in(folder), ElementsAre("latest", "step-00000100"));
    EXPECT_THAT(names_in(scratch / "run"), ElementsAre("checkpoints"));
    EXPECT_EQ(read_file(folder / "latest"), "step-00000100\n");
    EXPECT_THAT(names_in(saved), ElementsAre("manifest.json", "model-00000.safetensors",
                                             "optimizer-00000.safetensors", "tokenizer"));
    EXPECT_THAT(verify(saved), IsEmpty());

    const Checkpoint checkpoint = Checkpoint::open(saved);
    tiny.expect_equal(checkpoint);
    EXPECT_EQ(checkpoint.special_tokens(), request.special_tokens);
    EXPECT_EQ(checkpoint.run().model, tiny.run.model);
    EXPECT_EQ(checkpoint.config_toml(), request.config_toml);
    EXPECT_TRUE(checkpoint.has_optimizer());
    ASSERT_TRUE(checkpoint.tokenizer().has_value());
    EXPECT_EQ(read_file(*checkpoint.tokenizer()), "{\"model\":1}");
    EXPECT_EQ(checkpoint.manifest().parameters(), tiny.layout.parameters);
    std::vector<float> bias(6);
    checkpoint.read_weight("final_norm.bias", bias);
    EXPECT_EQ(bias[0], tiny.weights[static_cast<std::size_t>(tiny.layout.find("final_norm.bias")->offset)]);
    EXPECT_THAT(error_of(ErrorCode::bad_data,
                         [&] { checkpoint.read_weight("final_norm.bias", std::span(bias).first(5)); }),
                HasSubstr("has the shape [6], 5 values"));
    EXPECT_THAT(
        error_of(ErrorCode::bad_data, [&] { checkpoint.read_optimizer("w", "final_norm.bias", bias); }),
        HasSubstr("no tensor final_norm.bias (optimizer's w)"));
}

TEST(Save, same_state_same_bytes_and_several_files) {
    const Scratch scratch;
    const Tiny tiny(7);
    SaveOptions small;
    small.file_bytes = 1000;
    small.write.piece = 100;
    save(scratch / "a", tiny.request(), small);
    save(scratch / "b", tiny.request(), small);
    EXPECT_EQ(contents(scratch / "a"), contents(scratch / "b"));
    const std::vector<std::string> names = names_in(scratch / "a/step-00000007");
    EXPECT_GT(
        std::count_if(names.begin(), names.end(), [](const auto& n) { return n.starts_with("model-"); }), 2);
    for (const std::string& name : names) {
        // A tensor larger than the limit has a file of its own.
        if (name.ends_with(".safetensors")) {
            EXPECT_LT(fs::file_size(scratch / "a/step-00000007" / name), 2500U) << name;
        }
    }
    tiny.expect_equal(Checkpoint::open(scratch / "a/step-00000007"));
}

TEST(Save, weights_alone_and_other_models) {
    const Scratch scratch;
    const Tiny tiny(1);
    SaveRequest request = tiny.request();
    request.optimizer.clear();
    save_as(scratch / "weights", request);
    const Checkpoint checkpoint = Checkpoint::open(scratch / "weights");
    EXPECT_FALSE(checkpoint.has_optimizer());
    EXPECT_FALSE(checkpoint.tokenizer().has_value());
    spec::Model other = tiny.run.model;
    other.layers = 2;
    other.vocab = 34;
    const model::Layout layout = model::make_layout(other);
    std::vector<float> flat(static_cast<std::size_t>(layout.size));
    const std::string error = error_of(ErrorCode::bad_data, [&] { checkpoint.read_weights(layout, flat); });
    EXPECT_THAT(error, HasSubstr("embedding.tokens.weight has the shape [33, 6], the model needs [34, 6]"));
    EXPECT_THAT(error, HasSubstr("layers.1.mlp.down.bias is missing"));
    std::vector<float> own(static_cast<std::size_t>(tiny.layout.size));
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { checkpoint.read_optimizer("m", tiny.layout, own); }),
                HasSubstr("(optimizer's m) is missing"));
}

TEST(Save, wrong_requests_leave_nothing) {
    const Scratch scratch;
    const Tiny tiny(1);
    SaveRequest twice = tiny.request();
    twice.weights.push_back(twice.weights.front());
    EXPECT_THAT(error_of(ErrorCode::internal, [&] { save(scratch / "a", twice); }), HasSubstr("saved twice"));
    SaveRequest size = tiny.request();
    size.weights.front().values = size.weights.front().values.first(1);
    EXPECT_THAT(error_of(ErrorCode::internal, [&] { save(scratch / "a", size); }),
                HasSubstr("with 1 values"));
    SaveRequest tokenizer = tiny.request();
    tokenizer.tokenizer_files = {scratch / "missing.json"};
    EXPECT_THAT(error_of(ErrorCode::bad_data, [&] { save(scratch / "a", tokenizer); }),
                HasSubstr("missing.json"));
    // Nothing was ever complete: that is no lost checkpoint.
    EXPECT_FALSE(newest_complete(scratch / "a").has_value());
}

TEST(Save, replaces_a_step_that_was_saved_before) {
    const Scratch scratch;
    Tiny tiny(5);
    save(scratch / "c", tiny.request());
    tiny.weights[0] += 1.0F;
    SaveRequest request = tiny.request();
    request.optimizer.pop_back();
    save(scratch / "c", request);
    EXPECT_THAT(names_in(scratch / "c"), ElementsAre("latest", "step-00000005"));
    std::vector<float> read(tiny.weights.size());
    Checkpoint::open(scratch / "c/step-00000005").read_weights(tiny.layout, read);
    EXPECT_EQ(read[0], tiny.weights[0]);
}

// Runs a save in a child that ends (as by kill -9: no destructors, no flush) before operation number `at`.
// Returns whether the child got to the end.
bool save_until(const fs::path& folder, const Tiny& tiny, int at) {
    const pid_t child = ::fork();
    if (child == 0) {
        SaveOptions options;
        options.file_bytes = 2000;
        options.write.piece = 700;
        int count = 0;
        options.write.before = [&](std::string_view, const fs::path&) {
            if (count++ == at) ::_exit(9);
        };
        try {
            save(folder, tiny.request(), options);
        } catch (const std::exception& error) {
            ::_exit(3);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9)) << status;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Checkpoint, rel_C1_C3_B5_killed_at_every_write_keeps_the_previous_one) {
    const Scratch scratch;
    const Tiny before(10);
    const Tiny after(20);
    const fs::path folder = scratch / "checkpoints";
    save(folder, before.request());
    int at = 0;
    int new_seen = 0;
    for (bool finished = false; !finished; ++at) {
        ASSERT_LT(at, 1000);
        finished = save_until(folder, after, at);
        const auto found = newest_complete(folder);
        ASSERT_TRUE(found.has_value()) << at;
        EXPECT_THAT(found->passed_over, IsEmpty()) << at;
        if (found->checkpoint.state().step == 10) {
            before.expect_equal(found->checkpoint);
            EXPECT_EQ(new_seen, 0);
        } else {
            after.expect_equal(found->checkpoint);
            ++new_seen;
        }
        EXPECT_TRUE(!finished || new_seen > 0);
    }
    EXPECT_GT(at, 30);
    // Retention removes what the dead left.
    EXPECT_GT(names_in(folder).size(), 3U);
    keep_newest(folder, 2);
    EXPECT_THAT(names_in(folder), ElementsAre("latest", "step-00000010", "step-00000020"));
}

TEST(Checkpoint, rel_C1_killed_in_the_first_save_is_a_fresh_start_and_nothing_else) {
    const Tiny tiny(20);
    for (int at = 0;; ++at) {
        const Scratch scratch;
        const bool finished = save_until(scratch / "checkpoints", tiny, at);
        const auto found = newest_complete(scratch / "checkpoints");  // no error at any point
        if (found) tiny.expect_equal(found->checkpoint);
        if (finished) {
            EXPECT_TRUE(found.has_value());
            break;
        }
        ASSERT_LT(at, 1000);
    }
}

TEST(Checkpoint, rel_C1_killed_while_replacing_a_step) {
    Tiny old_state(20);
    Tiny new_state(20);
    new_state.weights[5] = 77.0F;
    const Scratch scratch;
    const fs::path folder = scratch / "checkpoints";
    for (int at = 0;; ++at) {
        save(folder, old_state.request());
        const bool finished = save_until(folder, new_state, at);
        const auto found = newest_complete(folder);
        ASSERT_TRUE(found.has_value());
        std::vector<float> read(new_state.weights.size());
        found->checkpoint.read_weights(new_state.layout, read);
        EXPECT_TRUE(read[5] == old_state.weights[5] || read[5] == 77.0F) << at;
        if (finished) {
            EXPECT_EQ(read[5], 77.0F);
            break;
        }
        ASSERT_LT(at, 1000);
    }
}

TEST(Checkpoint, rel_C5_a_throw_at_every_operation_removes_the_temporary) {
    const Scratch scratch;
    const Tiny before(10);
    const Tiny after(20);
    const fs::path folder = scratch / "checkpoints";
    save(folder, before.request());
    const auto untouched = contents(folder / "step-00000010");
    for (int at = 0;; ++at) {
        ASSERT_LT(at, 1000);
        int count = 0;
        SaveOptions options;
        options.write.piece = 4000;
        options.write.before = [&](std::string_view operation, const fs::path& path) {
            if (count++ == at) fail(ErrorCode::bad_data, "injected at {} {}", operation, path.string());
        };
        bool threw = false;
        try {
            save(folder, after.request(), options);
        } catch (const Error& error) {
            threw = true;
            EXPECT_THAT(error.what(), HasSubstr("injected"));
        }
        EXPECT_EQ(contents(folder / "step-00000010"), untouched);
        for (const std::string& name : names_in(folder))
            EXPECT_FALSE(name.starts_with(".")) << name << " at " << at;
        if (!threw) break;
        fs::remove_all(folder / "step-00000020");
        write_file(folder / "latest", "step-00000010\n");
    }
}

// Lazily: maps of files may still be open when a test fails.
struct Unmount {
    fs::path path;
    ~Unmount() { ::umount2(path.c_str(), MNT_DETACH); }
};

// A real full disk where the test may mount one.
TEST(Checkpoint, rel_C11_full_disk_is_named_and_earlier_checkpoints_stay) {
    const Scratch scratch;
    const fs::path small = scratch / "small";
    fs::create_directory(small);
    if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "mounting needs root";
    const Unmount unmount{small};
    const Tiny before(1);
    const Tiny after(2);
    save(small / "checkpoints", before.request());
    // Fill all but a few kilobytes.
    std::ofstream(small / "ballast") << std::string(20000, 'x');
    const std::string error = error_of(ErrorCode::bad_data, [&] {
        for (std::int64_t step = 2; step < 20; ++step) save(small / "checkpoints", Tiny(step).request());
    });
    EXPECT_THAT(error, HasSubstr("No space left on device"));
    EXPECT_THAT(error, HasSubstr((small / "checkpoints").string()));
    const auto found = newest_complete(small / "checkpoints");
    EXPECT_TRUE(found.has_value());
    if (found) Tiny(found->checkpoint.state().step).expect_equal(found->checkpoint);
    for (const std::string& name : names_in(small / "checkpoints"))
        EXPECT_FALSE(name.starts_with(".")) << name;
}

TEST(Checkpoint, rel_C11_file_size_limit_is_an_error_with_the_path) {
    const Scratch scratch;
    save(scratch / "c", Tiny(1).request());
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{3000, 3000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            save(scratch / "c", Tiny(2).request());
        } catch (const Error& error) {
            const std::string text = error.what();
            const bool named = text.find("File too large") != std::string::npos &&
                               text.find("step-00000002") != std::string::npos;
            ::_exit(named ? 42 : 1);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 42);
    EXPECT_THAT(names_in(scratch / "c"), ElementsAre("latest", "step-00000001"));
}

TEST(KeepNewest, removes_the_oldest_and_nothing_else) {
    const Scratch scratch;
    for (const std::int64_t step : {1, 2, 3, 4}) save(scratch / "c", Tiny(step).request());
    write_file(scratch / "c/notes.txt", "mine");
    keep_newest(scratch / "c", 0);
    EXPECT_EQ(names_in(scratch / "c").size(), 6U);
    keep_newest(scratch / "c", 2, scratch / "c/step-00000004");
    EXPECT_THAT(names_in(scratch / "c"),
                ElementsAre("latest", "notes.txt", "step-00000003", "step-00000004"));
    keep_newest(scratch / "c", 5);
    EXPECT_EQ(names_in(scratch / "c").size(), 4U);
}

TEST(KeepNewest, rel_C2_C5_damaged_ones_count_for_nothing) {
    const Scratch scratch;
    for (const std::int64_t step : {1, 2, 3, 4, 5}) save(scratch / "c", Tiny(step).request());
    write_file(scratch / "c/step-00000005/model-00000.safetensors", "");           // zero length
    fs::remove(scratch / "c/step-00000004/manifest.json");                         // unfinished
    testing::flip_bit(scratch / "c/step-00000003/model-00000.safetensors", 2000);  // only the hash tells
    fs::create_directory(scratch / "c/.step-00000006.tmp-1");                      // of a process that lives
    fs::create_directory(scratch / "c/.step-00000006.tmp-999999999");
    write_file(scratch / "c/.step-00000006.tmp-999999999/model-00000.safetensors", "x");
    fs::create_directory(scratch / "c/.other.tmp-999999999");  // not ours
    keep_newest(scratch / "c", 1);
    EXPECT_THAT(names_in(scratch / "c"),
                ElementsAre(".other.tmp-999999999", ".step-00000006.tmp-1", "latest", "step-00000002",
                            "step-00000003", "step-00000004", "step-00000005"));
    Tiny(2).expect_equal(Checkpoint::open(scratch / "c/step-00000002"));
}

TEST(KeepNewest, only_damaged_ones_means_nothing_is_removed) {
    const Scratch scratch;
    for (const std::int64_t step : {1, 2}) {
        save(scratch / "c", Tiny(step).request());
        testing::flip_bit(scratch / "c" / step_name(step) / "model-00000.safetensors", 2000);
    }
    fs::create_directory(scratch / "c/.step-00000006.tmp-999999999");
    const auto before = names_in(scratch / "c");
    keep_newest(scratch / "c", 1);
    EXPECT_EQ(names_in(scratch / "c"), before);
}

}  // namespace
}  // namespace longhaul::checkpoint
