// Owning, 64-byte aligned, zero-filled memory, counted by name so that "who holds what" can be printed.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "tensor/view.h"

namespace longhaul {

// Bytes held now and at most, by name. Thread-safe. Must outlive the buffers that it counts.
class MemoryLedger {
public:
    void add(const std::string& name, std::size_t bytes);
    void remove(const std::string& name, std::size_t bytes);
    [[nodiscard]] std::size_t current() const;
    [[nodiscard]] std::size_t peak() const;
    [[nodiscard]] std::map<std::string, std::size_t> by_name() const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::size_t> held_;
    std::size_t current_ = 0;
    std::size_t peak_ = 0;
};

class Buffer {
public:
    Buffer() = default;
    // An Error training_failed that lists what is held where the system has no memory left. `ledger` may be
    // null.
    Buffer(std::size_t bytes, const std::string& name, MemoryLedger* ledger);
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    // A view of the start of this buffer, dense.
    [[nodiscard]] TensorView view(DType dtype, Shape shape, std::size_t byte_offset = 0) const;

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t mapped_ = 0;
    std::string name_;
    MemoryLedger* ledger_ = nullptr;
};

}  // namespace longhaul
