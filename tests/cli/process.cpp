// fork and exec with files as standard streams.
#include "cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace longhaul::cli {

namespace fs = std::filesystem;

namespace {

fs::path make_folder() {
    std::string pattern = (fs::temp_directory_path() / "longhaul-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    return pattern;
}

void redirect(const fs::path& file, int flags, int target) {
    const int fd = ::open(file.c_str(), flags, 0600);
    if (fd < 0) ::_exit(126);
    ::dup2(fd, target);
    ::close(fd);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::string& input)
    : folder_(make_folder()) {
    write_text(folder_ / "in", input);
    std::vector<std::string> words = {LONGHAUL_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        redirect(folder_ / "in", O_RDONLY, STDIN_FILENO);
        redirect(folder_ / "out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
        redirect(folder_ / "err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
}

Process::~Process() {
    if (!reaped_) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, &status_, 0);
    }
    fs::remove_all(folder_);
}

void Process::signal(int number) const {
    if (!reaped_) ::kill(pid_, number);
}

bool Process::ended() const {
    if (!reaped_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
    return reaped_;
}

void Process::pause() {
    ::usleep(5000);
}

Finished Process::wait() {
    if (!reaped_) ::waitpid(pid_, &status_, 0);
    reaped_ = true;
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_), read_text(folder_ / "out"),
            read_text(folder_ / "err")};
}

Finished longhaul(const std::vector<std::string>& arguments, const std::string& input) {
    Process process(arguments, input);
    return process.wait();
}

ScratchFolder::ScratchFolder() : path_(make_folder()) {}
ScratchFolder::~ScratchFolder() {
    fs::remove_all(path_);
}

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace longhaul::cli
