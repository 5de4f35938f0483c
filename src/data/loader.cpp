// The prefetching thread and its queue.
#include "data/loader.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/time.h"

namespace longhaul::data {

struct Prefetcher::Shared {
    const SampleSource& source;
    std::int64_t next_sample;
    std::int64_t samples_per_step;
    std::size_t depth;

    std::mutex mutex;
    std::condition_variable room;   // a step was taken, or stop
    std::condition_variable ready;  // a step was read, or an error
    std::deque<std::vector<std::int32_t>> steps;
    std::vector<std::vector<std::int32_t>> spare;  // used buffers, so that steady state allocates nothing
    std::exception_ptr error;
    std::atomic<bool> stop{false};
    std::thread thread;

    // False if stopped in between.
    bool read_step(std::vector<std::int32_t>& out) {
        const auto row = static_cast<std::size_t>(source.sequence_length() + 1);
        out.resize(static_cast<std::size_t>(samples_per_step) * row);
        for (std::int64_t i = 0; i < samples_per_step; ++i) {
            if (stop.load(std::memory_order_relaxed)) return false;
            source.read(next_sample + i, std::span(out).subspan(static_cast<std::size_t>(i) * row, row));
        }
        next_sample += samples_per_step;
        return true;
    }

    void run() {
        std::unique_lock lock(mutex);
        while (true) {
            room.wait(lock, [this] { return stop || steps.size() < depth; });
            if (stop) return;
            std::vector<std::int32_t> buffer;
            if (!spare.empty()) {
                buffer = std::move(spare.back());
                spare.pop_back();
            }
            lock.unlock();
            std::exception_ptr failure;
            try {
                if (!read_step(buffer)) return;
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            if (failure) {
                error = failure;
            } else {
                steps.push_back(std::move(buffer));
            }
            ready.notify_one();
            if (failure) return;
        }
    }
};

Prefetcher::Prefetcher(const SampleSource& source, std::int64_t first_sample, std::int64_t samples_per_step,
                       int depth)
    : shared_(new Shared{source,
                         first_sample,
                         samples_per_step,
                         static_cast<std::size_t>(depth),
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {}}) {
    require(first_sample >= 0 && samples_per_step >= 1 && depth >= 0, ErrorCode::internal,
            "prefetching {} steps of {} samples from {}", depth, samples_per_step, first_sample);
    if (depth > 0) shared_->thread = std::thread([shared = shared_.get()] { shared->run(); });
}

Prefetcher::~Prefetcher() {
    if (!shared_->thread.joinable()) return;
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->stop = true;
    }
    shared_->room.notify_one();
    shared_->thread.join();
}

const std::vector<std::int32_t>& Prefetcher::next() {
    const Stopwatch watch;
    if (shared_->depth == 0) {
        (void)shared_->read_step(current_);
    } else {
        std::unique_lock lock(shared_->mutex);
        shared_->ready.wait(lock, [this] { return !shared_->steps.empty() || shared_->error; });
        // Steps that were read before the error come first.
        if (shared_->steps.empty()) std::rethrow_exception(shared_->error);
        if (!current_.empty()) shared_->spare.push_back(std::move(current_));
        current_ = std::move(shared_->steps.front());
        shared_->steps.pop_front();
        lock.unlock();
        shared_->room.notify_one();
    }
    last_wait_ = watch.seconds();
    total_wait_ += last_wait_;
    return current_;
}

}  // namespace longhaul::data
