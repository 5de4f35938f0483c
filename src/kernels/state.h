// What a device keeps between calls. Private to kernels/.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/device.h"

namespace longhaul::kernels {

// A block has room for the matrix library's needs, so that blocks are shared and their sum can be planned.
inline constexpr std::size_t kLeastScratch = std::size_t{1} << 20U;

// Scratch memory that is kept between calls: after the first steps nothing is allocated any more.
class ScratchPool {
public:
    explicit ScratchPool(MemoryLedger* ledger) : ledger_(ledger) {}

    // At least this many bytes, held until the block is destroyed, 64-byte aligned, contents left from
    // before. Thread-safe.
    class Block {
    public:
        Block(ScratchPool& pool, std::size_t bytes) : pool_(&pool), buffer_(pool.take(bytes)) {}
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

private:
    [[nodiscard]] Buffer take(std::size_t bytes);
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
    Profile* profile = nullptr;
    std::unique_ptr<Products> products;
};

}  // namespace longhaul::kernels
