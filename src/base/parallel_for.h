// Threads for loops: OpenMP where it is built in, otherwise a small std::thread team (ThreadSanitizer
// builds). Results must not depend on how the range is cut: callers split work in fixed pieces and reduce
// them in index order.
#pragma once

#include <cstdint>
#include <functional>

namespace longhaul {

// Number of threads that parallel_for uses: set_threads(), else OMP_NUM_THREADS, else the processors of this
// process.
[[nodiscard]] int threads();
void set_threads(int count);

// body(i) for every i in [0, count), in any order, on all threads; exceptions of a body are rethrown here,
// the first by index. Called inside a body it runs serially.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace longhaul
