// Runs the longhaul binary as a user would: arguments in; exit status, standard output and standard error
// out.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul::cli {

struct Finished {
    int status = -1;  // exit status, or 128 + signal
    std::string out;
    std::string err;
};

// A running child with its outputs going to files of a scratch folder.
class Process {
public:
    explicit Process(const std::vector<std::string>& arguments, const std::string& input = "");
    ~Process();  // kills what still runs
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    void signal(int number) const;
    // Waits until `done` holds or the child ends or `seconds` pass; true where it held.
    template <typename Done>
    bool wait_until(const Done& done, double seconds = 60) const {
        for (int i = 0; i < static_cast<int>(seconds * 200); ++i) {
            if (done()) return true;
            if (ended()) return done();
            pause();
        }
        return false;
    }
    Finished wait();

private:
    [[nodiscard]] bool ended() const;
    static void pause();
    pid_t pid_ = -1;
    mutable int status_ = -1;
    mutable bool reaped_ = false;
    std::filesystem::path folder_;
};

Finished longhaul(const std::vector<std::string>& arguments, const std::string& input = "");

// A folder of this test that is removed at its end.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    [[nodiscard]] std::filesystem::path path() const { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

void write_text(const std::filesystem::path& path, const std::string& text);
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace longhaul::cli
