// A named stack of memory for activations. The code that lays tensors out runs twice: once on an arena
// without memory, which only counts (the plan), and once on one of the planned size. So what is planned is
// what is used.
#pragma once

#include <string>
#include <vector>

#include "tensor/buffer.h"

namespace longhaul {

class Arena {
public:
    // An arena that only counts: the views it gives have no data.
    explicit Arena(std::string name) : name_(std::move(name)) {}
    // One that holds `capacity` bytes.
    Arena(std::string name, std::size_t capacity, MemoryLedger* ledger);

    // The next tensor, 64-byte aligned, contents left from before. Where the plan did not foresee it, an
    // internal error names the tensor and what is taken, and nothing changes.
    [[nodiscard]] TensorView take(const char* tensor, DType dtype, Shape shape);

    // Scopes: what was taken after mark() is given back by release(mark).
    [[nodiscard]] std::size_t mark() const { return used_; }
    void release(std::size_t mark) { used_ = mark; }

    [[nodiscard]] bool planning() const { return buffer_.data() == nullptr; }
    [[nodiscard]] std::size_t peak() const { return peak_; }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_;
    Buffer buffer_;
    std::size_t capacity_ = 0;
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
};

// Releases on scope exit what was taken inside the scope.
class ArenaScope {
public:
    explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
    ~ArenaScope() { arena_.release(mark_); }
    ArenaScope(const ArenaScope&) = delete;
    ArenaScope& operator=(const ArenaScope&) = delete;

private:
    Arena& arena_;
    std::size_t mark_;
};

}  // namespace longhaul
