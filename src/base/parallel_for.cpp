// parallel_for on OpenMP or std::thread.
#include "base/parallel_for.h"

#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#ifdef LONGHAUL_OPENMP
#include <omp.h>
#endif

namespace longhaul {

namespace {

thread_local bool inside_parallel = false;
std::atomic<int> chosen_threads{0};

int default_threads() {
    if (const char* text = std::getenv("OMP_NUM_THREADS"); text != nullptr && std::atoi(text) > 0)
        return std::atoi(text);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return 1;
}

// Keeps the exception of the smallest index, so that what is reported does not depend on timing.
class FirstError {
public:
    void keep(std::int64_t index) {
        const std::lock_guard lock(mutex_);
        if (!error_ || index < index_) {
            error_ = std::current_exception();
            index_ = index;
        }
    }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr error_;
    std::int64_t index_ = 0;
};

}  // namespace

int threads() {
    const int chosen = chosen_threads.load(std::memory_order_relaxed);
    if (chosen > 0) return chosen;
    static const int count = default_threads();
    return count;
}

void set_threads(int count) {
    chosen_threads.store(count, std::memory_order_relaxed);
#ifdef LONGHAUL_OPENMP
    omp_set_num_threads(count);
#endif
}

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
    if (count <= 1 || inside_parallel || threads() == 1) {
        for (std::int64_t i = 0; i < count; ++i) body(i);
        return;
    }
    FirstError error;
    auto guarded = [&](std::int64_t i) {
        try {
            body(i);
        } catch (...) {
            error.keep(i);
        }
    };
#ifdef LONGHAUL_OPENMP
#pragma omp parallel num_threads(threads())
    {
        inside_parallel = true;
#pragma omp for schedule(dynamic, 1)
        for (std::int64_t i = 0; i < count; ++i) guarded(i);
        inside_parallel = false;
    }
#else
    std::atomic<std::int64_t> next{0};
    auto work = [&] {
        inside_parallel = true;
        for (std::int64_t i = next++; i < count; i = next++) guarded(i);
        inside_parallel = false;
    };
    {
        std::vector<std::jthread> team;
        for (int t = 1; t < threads(); ++t) team.emplace_back(work);
        work();
    }
#endif
    error.rethrow();
}

}  // namespace longhaul
