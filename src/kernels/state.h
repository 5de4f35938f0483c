// What a device keeps between calls. Private to kernels/.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/device.h"

namespace longhaul::kernels {

// Scratch memory that is kept between calls: after the first steps nothing is allocated any more.
class ScratchPool {
public:
    explicit ScratchPool(MemoryLedger* ledger) : ledger_(ledger) {}

    // A block held until it is destroyed, 64-byte aligned, contents left from before.
    class Block {
    public:
        Block(ScratchPool& pool, Buffer buffer) : pool_(&pool), buffer_(std::move(buffer)) {}
        ~Block() { pool_->give_back(std::move(buffer_)); }
        Block(const Block&) = delete;
        Block& operator=(const Block&) = delete;
        [[nodiscard]] std::byte* data() const { return buffer_.data(); }
        template <typename T>
        [[nodiscard]] T* as() const {
            return reinterpret_cast<T*>(buffer_.data());
        }

    private:
        ScratchPool* pool_;
        Buffer buffer_;
    };

    // At least this many bytes. Thread-safe.
    [[nodiscard]] Block take(std::size_t bytes);

private:
    void give_back(Buffer buffer);

    std::mutex mutex_;
    std::vector<Buffer> free_;
    MemoryLedger* ledger_;
};

// The matrix library's primitives; defined beside the code that uses them.
class Products;

struct Device::State {
    State(Backend backend_, Isa isa_, MemoryLedger* ledger);
    ~State();

    Backend backend;
    Isa isa;
    std::int64_t vector_targets = 0;  // Highway's bits of the instruction sets that may be used
    ScratchPool scratch;
    std::unique_ptr<Products> products;
};

}  // namespace longhaul::kernels
