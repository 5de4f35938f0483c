// Fixed cuts of rows and elements over threads. They depend on shapes only, so that sums are the same for any
// number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "base/parallel_for.h"

namespace longhaul::kernels::cpu {

// Elements that one task of an element-wise op takes.
constexpr std::int64_t kPiece = 1 << 14;

// body(first, count) over [0, total) in pieces of kPiece.
template <typename Body>
void each_piece(std::int64_t total, const Body& body) {
    parallel_for(div_ceil(total, kPiece), [&](std::int64_t piece) {
        const std::int64_t first = piece * kPiece;
        body(first, std::min(kPiece, total - first));
    });
}

// Rows of a task: enough work for a thread to wake up for, at most 64 tasks.
inline std::int64_t rows_per_task(std::int64_t rows, std::int64_t columns) {
    const std::int64_t enough = std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(columns, 1));
    return std::max(enough, div_ceil<std::int64_t>(rows, 64));
}

// body(first, count, task) over [0, rows).
template <typename Body>
void each_rows(std::int64_t rows, std::int64_t columns, const Body& body) {
    const std::int64_t step = rows_per_task(rows, columns);
    parallel_for(div_ceil(rows, step), [&](std::int64_t task) {
        const std::int64_t first = task * step;
        body(first, std::min(step, rows - first), task);
    });
}

// Sums of columns over rows: a row of partial sums for each task, added up in the order of tasks, in double.
class ColumnSums {
public:
    ColumnSums(std::int64_t rows, std::int64_t columns, bool wanted)
        : columns_(columns),
          tasks_(wanted ? div_ceil(rows, rows_per_task(rows, columns)) : 0),
          partial_(static_cast<std::size_t>(tasks_ * columns)) {}
    // Zeros at first; columns elements. Null where no sums are wanted.
    [[nodiscard]] float* of_task(std::int64_t task) {
        return tasks_ == 0 ? nullptr : partial_.data() + task * columns_;
    }
    void add_to(float* out) const {
        if (tasks_ == 0) return;
        for (std::int64_t c = 0; c < columns_; ++c) {
            double sum = out[c];
            for (std::int64_t t = 0; t < tasks_; ++t)
                sum += static_cast<double>(partial_[static_cast<std::size_t>(t * columns_ + c)]);
            out[c] = static_cast<float>(sum);
        }
    }

private:
    std::int64_t columns_;
    std::int64_t tasks_;
    std::vector<float> partial_;
};

}  // namespace longhaul::kernels::cpu
