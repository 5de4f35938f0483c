// What the plain loops are written on: rows of any element type, double included, so that tests can take
// derivatives by finite differences of the very code that is the oracle.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/error.h"
#include "tensor/view.h"

namespace longhaul::kernels::reference {

template <typename T>
struct Rows {
    T* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t stride = 0;

    [[nodiscard]] T* operator[](std::int64_t row) const { return data + row * stride; }
    [[nodiscard]] explicit operator bool() const { return data != nullptr; }
};

template <typename T>
Rows<T> rows_of(const TensorView& view) {
    return {view.as<T>(), view.rows(), view.columns(), view.row_stride};
}

template <typename T>
Rows<const T> rows_of(const ConstTensorView& view) {
    return {view.as<T>(), view.rows(), view.columns(), view.row_stride};
}

// A pointer to the elements of an optional vector: null where it is left out.
template <typename T, typename Void>
auto* vector_of(const BasicView<Void>& view) {
    return view ? view.template as<T>() : nullptr;
}

// Every element is computed in double and rounded once, on the way to memory.
template <typename T>
double load(T value) {
    if constexpr (std::is_same_v<T, bf16>) {
        return static_cast<double>(static_cast<float>(value));
    } else {
        return static_cast<double>(value);
    }
}

template <typename T>
void store(T& to, double value) {
    if constexpr (std::is_same_v<T, bf16>) {
        to = bf16(static_cast<float>(value));
    } else {
        to = static_cast<T>(value);
    }
}

template <typename T>
void store(T& to, double value, bool accumulate) {
    store(to, accumulate ? load(to) + value : value);
}

// body(T{}) for the compute type that `dtype` names.
template <typename Body>
void with_type(DType dtype, Body&& body) {
    if (dtype == DType::f32) {
        body(float{});
    } else if (dtype == DType::bf16) {
        body(bf16{});
    } else {
        fail(ErrorCode::internal, "{} is not a compute type", name_of(dtype));
    }
}

}  // namespace longhaul::kernels::reference
