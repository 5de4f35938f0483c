// The bar and its numbers.
#include "observe/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace longhaul::observe {

namespace {

constexpr double kRedrawSeconds = 0.1;

int terminal_columns() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

}  // namespace

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
    if (!options_.write) {
        options_.write = [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stderr);
            std::fflush(stderr);
        };
    }
}

std::string Progress::figures(const StepMetrics& m) const {
    const auto done = static_cast<double>(m.step - options_.first);
    const auto left = static_cast<double>(options_.total - m.step);
    const double eta = done > 0 ? since_start_.seconds() / done * left : 0;
    return fmt::format("loss {:.4f}  {:.0f} tokens/s  MFU {:.1f}%  ETA {}", m.loss, m.tokens_per_s,
                       100 * m.mfu, human_duration(eta));
}

std::string Progress::bar_line(const StepMetrics& m) const {
    const std::string count = fmt::format("{}/{} ", m.step, options_.total);
    const std::string rest = " " + figures(m);
    const int columns = options_.columns > 0 ? options_.columns : terminal_columns();
    const int room = columns - 1 - static_cast<int>(count.size() + rest.size()) - 2;
    std::string line = count;
    if (room >= 5) {
        const int width = std::min(room, 30);
        const double share =
            static_cast<double>(m.step) / static_cast<double>(std::max<std::int64_t>(options_.total, 1));
        const auto filled = static_cast<int>(width * std::min(share, 1.0));
        line += fmt::format("[{}{}]", std::string(static_cast<std::size_t>(filled), '#'),
                            std::string(static_cast<std::size_t>(width - filled), '.'));
    }
    line += rest;
    if (static_cast<int>(line.size()) >= columns)
        line.resize(static_cast<std::size_t>(std::max(columns - 1, 1)));
    return line;
}

void Progress::step(const StepMetrics& m) {
    const bool last = m.step == options_.total;
    if (!options_.terminal) {
        if (m.step % options_.log_every == 0 || last) {
            options_.write(fmt::format("step {}/{}  {}  grad norm {:.3f}  lr {:.3g}\n", m.step,
                                       options_.total, figures(m), m.grad_norm, m.lr));
        }
        return;
    }
    if (drawn_ && !last && since_drawn_.seconds() < kRedrawSeconds) return;
    options_.write("\r\033[K" + bar_line(m));
    drawn_ = true;
    since_drawn_.restart();
}

void Progress::interrupt() {
    if (drawn_) options_.write("\r\033[K");
    drawn_ = false;
}

void Progress::finish() {
    if (drawn_) options_.write("\n");
    drawn_ = false;
}

}  // namespace longhaul::observe
