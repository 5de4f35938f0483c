// The handler.
#include "cli/signals.h"

#include <csignal>

namespace longhaul::cli {

namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
    // The second one: the user means it.
    if (received.exchange(number) != 0) {
        std::signal(number, SIG_DFL);
        std::raise(number);
    }
}

}  // namespace

std::atomic<int>& catch_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return received;
}

}  // namespace longhaul::cli
