// Keeps the matrix library to the calling thread, in what it plans and in what it runs.
#pragma once

#ifdef LONGHAUL_OPENMP
#include <omp.h>
#else
#include <dlfcn.h>
#endif

namespace longhaul::kernels {

class SingleThread {
public:
#ifdef LONGHAUL_OPENMP
    SingleThread() : before_(omp_get_max_threads()) {
        if (before_ != 1) omp_set_num_threads(1);
    }
    ~SingleThread() {
        if (before_ != 1) omp_set_num_threads(before_);
    }
#else
    // The library brings its OpenMP runtime along even where we are built without.
    SingleThread() {
        set(1);
    }
    ~SingleThread() = default;
#endif
    SingleThread(const SingleThread&) = delete;
    SingleThread& operator=(const SingleThread&) = delete;

private:
#ifdef LONGHAUL_OPENMP
    int before_;
#else
    static void set(int count) {
        using Function = void (*)(int);
        static const auto function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
        if (function != nullptr) function(count);
    }
#endif
};

}  // namespace longhaul::kernels
