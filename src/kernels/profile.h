// What each op of a step costs: time measured, floating-point operations and bytes counted from the shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "kernels/device.h"
#include "kernels/kernels.h"

namespace longhaul::kernels {

// What a call must do at least: a multiply and an add are two operations; every operand is read once and
// every result written once (an accumulated one is read, too).
struct OpCost {
    double flops = 0;
    double bytes = 0;
    bool product = false;  // matrix products, attention's included: compared with their peak
    std::string extents;   // what tells calls of one op apart, "1024 x 3072 x 768"
};

struct OpRecord {
    std::string op;
    std::string extents;
    DType dtype = DType::f32;
    bool product = false;
    std::int64_t calls = 0;
    double seconds = 0;
    double flops = 0;
    double bytes = 0;
};

// Sums by op and extents, in the order of the first call. For one thread that calls ops.
class Profile {
public:
    void add(std::string_view op, DType dtype, const OpCost& cost, double seconds);
    void clear() { records_.clear(); }
    [[nodiscard]] const std::vector<OpRecord>& records() const { return records_; }

private:
    std::vector<OpRecord> records_;
};

// Adds its own lifetime to the device's profile, ops that are called meanwhile included and not counted
// again. Does nothing, and doesn't call `cost`, where the device has no profile.
class OpTimer {
public:
    template <typename Cost>
    OpTimer(const Device& device, std::string_view op, DType dtype, const Cost& cost)
        : device_(device), profile_(device.profile()) {
        if (profile_ == nullptr) return;
        op_ = op;
        dtype_ = dtype;
        cost_ = cost();
        device_.set_profile(nullptr);
        watch_.restart();
    }
    ~OpTimer() {
        if (profile_ == nullptr) return;
        profile_->add(op_, dtype_, cost_, watch_.seconds());
        device_.set_profile(profile_);
    }
    OpTimer(const OpTimer&) = delete;
    OpTimer& operator=(const OpTimer&) = delete;

private:
    const Device& device_;
    Profile* profile_;
    std::string_view op_;
    DType dtype_ = DType::f32;
    OpCost cost_;
    Stopwatch watch_;
};

// c[m, n] from a[m, k] and b[k, n]; `operands` is the type of a and b.
[[nodiscard]] OpCost product_cost(std::int64_t m, std::int64_t n, std::int64_t k, DType operands,
                                  DType result, bool accumulates);
// Pairs of a query and a key that the mask lets see each other, over all heads and sequences.
[[nodiscard]] double visible_pairs(const AttentionShape& shape);
// Forward: two products of head_dim a visible pair. Backward: five (scores again, and four gradients).
[[nodiscard]] OpCost attention_cost(const AttentionShape& shape, DType dtype, bool backward);

// An op that moves this many bytes and whose arithmetic is nothing beside that.
[[nodiscard]] OpCost traffic(double bytes);
// Bytes of all views together.
template <typename... Views>
[[nodiscard]] double bytes_of(const Views&... views) {
    const auto one = [](const auto& view) {
        return view ? static_cast<double>(view.count()) * static_cast<double>(size_of(view.dtype)) : 0.0;
    };
    return (one(views) + ... + 0.0);
}

}  // namespace longhaul::kernels
