// Anonymous maps: zero pages from the system, touched first by the thread that uses them, returned at once
// when freed.
#include "tensor/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace longhaul {

void MemoryLedger::add(const std::string& name, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    held_[name] += bytes;
    current_ += bytes;
    peak_ = std::max(peak_, current_);
}

void MemoryLedger::remove(const std::string& name, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    held_[name] -= bytes;
    if (held_[name] == 0) held_.erase(name);
    current_ -= bytes;
}

std::size_t MemoryLedger::current() const {
    const std::lock_guard lock(mutex_);
    return current_;
}

std::size_t MemoryLedger::peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
}

std::map<std::string, std::size_t> MemoryLedger::by_name() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

Buffer::Buffer(std::size_t bytes, const std::string& name, MemoryLedger* ledger)
    : bytes_(bytes),
      mapped_(round_up<std::size_t>(std::max<std::size_t>(bytes, 1), 4096)),
      name_(name),
      ledger_(ledger) {
    void* map = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        std::string held;
        if (ledger != nullptr) {
            for (const auto& [holder, size] : ledger->by_name())
                held += fmt::format("; {} holds {} bytes", holder, size);
        }
        fail(ErrorCode::training_failed, "out of memory: {} bytes for {}{}", bytes, name, held);
    }
    // Huge pages make random access to large weights cheaper; only a hint.
    if (mapped_ >= (4U << 20U)) ::madvise(map, mapped_, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(map);
    if (ledger_ != nullptr) ledger_->add(name_, bytes_);
}

Buffer::~Buffer() {
    if (data_ == nullptr) return;
    ::munmap(data_, mapped_);
    if (ledger_ != nullptr) ledger_->remove(name_, bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      name_(std::move(other.name_)),
      ledger_(std::exchange(other.ledger_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    std::swap(name_, other.name_);
    std::swap(ledger_, other.ledger_);
    return *this;
}

TensorView Buffer::view(DType dtype, Shape shape, std::size_t byte_offset) const {
    const std::size_t needed = static_cast<std::size_t>(shape.count()) * size_of(dtype);
    require(byte_offset <= bytes_ && needed <= bytes_ - byte_offset, ErrorCode::internal,
            "a view of {} {} at byte {} does not fit the {} bytes of {}", name_of(dtype), shape.text(),
            byte_offset, bytes_, name_);
    return {data_ + byte_offset, dtype, shape};
}

}  // namespace longhaul
