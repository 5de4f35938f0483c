// Tiles, primitives and their cache.
#include "kernels/cpu/products.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "base/checked.h"
#include "base/hash.h"
#include "base/parallel_for.h"
#include "kernels/cpu/single_thread.h"
#include "kernels/state.h"

namespace longhaul::kernels {

namespace {

// All that a primitive depends on. Compared and hashed as bytes, hence plain 64-bit fields.
struct Key {
    std::int64_t m, n, k;
    std::int64_t a_row, a_column, b_row, b_column, c_row;
    std::int64_t dtype, c_dtype, bias, accumulate;
    friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
    std::size_t operator()(const Key& key) const { return hash64(std::as_bytes(std::span(&key, 1))); }
};

struct Primitive {
    dnnl::matmul matmul;
    dnnl::memory::desc a, b, bias, c, scratch;
};

dnnl::memory::data_type library_type(DType dtype) {
    return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

struct Tiling {
    std::int64_t rows;
    std::int64_t columns;
};

// Large enough to run near the peak, small enough that many threads find work; a function of the shape alone.
Tiling tiling(const Product& p) {
    // The tile kernels of the library for bf16 want whole, dense rows of c.
    if (p.a.dtype == DType::bf16 && p.c_step == p.n && p.a.column_step == 1 && p.m >= 512) return {256, p.n};
    Tiling tile{std::min<std::int64_t>(512, round_up<std::int64_t>(p.m, 16)),
                std::min<std::int64_t>(512, round_up<std::int64_t>(p.n, 16))};
    constexpr std::int64_t kEnough = 16;
    constexpr std::int64_t kSmall = 1 << 23;
    while (div_ceil(p.m, tile.rows) * div_ceil(p.n, tile.columns) < kEnough &&
           tile.rows * tile.columns * p.k > kSmall) {
        std::int64_t& longer = tile.columns >= tile.rows ? tile.columns : tile.rows;
        if (longer <= 64) break;
        longer = round_up<std::int64_t>(longer / 2, 16);
    }
    return tile;
}

const std::byte* at(const Operand& x, std::int64_t row, std::int64_t column) {
    return static_cast<const std::byte*>(x.data) +
           (row * x.row_step + column * x.column_step) * static_cast<std::int64_t>(size_of(x.dtype));
}

}  // namespace

struct Products::Cache {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    std::mutex mutex;
    std::unordered_map<Key, std::unique_ptr<Primitive>, KeyHash> primitives;

    const Primitive& find(const Product& product, std::int64_t m, std::int64_t n);
    std::unique_ptr<Primitive> make(const Key& key) const;
    void execute(const Primitive& primitive, const Product& product, std::int64_t row, std::int64_t column,
                 ScratchPool& pool) const;
};

const Primitive& Products::Cache::find(const Product& p, std::int64_t m, std::int64_t n) {
    const Key key{m,
                  n,
                  p.k,
                  p.a.row_step,
                  p.a.column_step,
                  p.b.row_step,
                  p.b.column_step,
                  p.c_step,
                  static_cast<std::int64_t>(p.a.dtype),
                  static_cast<std::int64_t>(p.c_dtype),
                  p.bias != nullptr,
                  p.accumulate};
    const std::lock_guard lock(mutex);
    std::unique_ptr<Primitive>& primitive = primitives[key];
    if (!primitive) primitive = make(key);
    return *primitive;
}

std::unique_ptr<Primitive> Products::Cache::make(const Key& key) const {
    const SingleThread single;
    const auto type = library_type(static_cast<DType>(key.dtype));
    const dnnl::memory::desc a({key.m, key.k}, type, dnnl::memory::dims{key.a_row, key.a_column});
    const dnnl::memory::desc b({key.k, key.n}, type, dnnl::memory::dims{key.b_row, key.b_column});
    const dnnl::memory::desc c({key.m, key.n}, library_type(static_cast<DType>(key.c_dtype)),
                               dnnl::memory::dims{key.c_row, 1});
    dnnl::memory::desc bias;
    if (key.bias != 0) bias = {{1, key.n}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab};
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (key.accumulate != 0) {
        dnnl::post_ops sum;
        sum.append_sum(1.0F);
        attributes.set_post_ops(sum);
    }
    const dnnl::matmul::desc description =
        key.bias != 0 ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc chosen(description, attributes, engine);
    return std::make_unique<Primitive>(
        Primitive{dnnl::matmul(chosen), a, b, bias, c, chosen.scratchpad_desc()});
}

void Products::Cache::execute(const Primitive& primitive, const Product& p, std::int64_t row,
                              std::int64_t column, ScratchPool& pool) const {
    const SingleThread single;
    // The library takes no pointers to const.
    const auto wrap = [&](const dnnl::memory::desc& description, const void* data) {
        return dnnl::memory(description, engine, const_cast<void*>(data));
    };
    const Operand c{p.c, p.c_dtype, p.c_step, 1};
    const ScratchPool::Block scratch(pool, primitive.scratch.get_size());
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, wrap(primitive.a, at(p.a, row, 0))},
        {DNNL_ARG_WEIGHTS, wrap(primitive.b, at(p.b, 0, column))},
        {DNNL_ARG_DST, wrap(primitive.c, at(c, row, column))},
        {DNNL_ARG_SCRATCHPAD, wrap(primitive.scratch, scratch.data())}};
    if (p.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, wrap(primitive.bias, p.bias + column));
    dnnl::stream stream(engine);
    primitive.matmul.execute(stream, arguments);
    stream.wait();
}

Products::Products() : cache_(std::make_unique<Cache>()) {}
Products::~Products() = default;

void Products::run(const Device& device, const Product& product) {
    const Tiling tile = tiling(product);
    const std::int64_t rows = div_ceil(product.m, tile.rows);
    const std::int64_t columns = div_ceil(product.n, tile.columns);
    // Whole tiles, those at the right edge, at the bottom edge, and in the corner.
    const std::array heights{std::min(tile.rows, product.m), product.m - (rows - 1) * tile.rows};
    const std::array widths{std::min(tile.columns, product.n), product.n - (columns - 1) * tile.columns};
    std::array<std::array<const Primitive*, 2>, 2> primitives{};
    for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 2; ++j) {
            const bool needed = (i == 1 || rows > 1) && (j == 1 || columns > 1);
            if (needed) primitives[i][j] = &cache_->find(product, heights[i], widths[j]);
        }
    }
    parallel_for(rows * columns, [&](std::int64_t index) {
        const std::int64_t i = index % rows;
        const std::int64_t j = index / rows;
        const Primitive& primitive = *primitives[i == rows - 1 ? 1 : 0][j == columns - 1 ? 1 : 0];
        cache_->execute(primitive, product, i * tile.rows, j * tile.columns, device.state().scratch);
    });
}

void Products::limit_process(Isa isa) {
    const auto limit = [&] {
        switch (isa) {
            case Isa::sse2:
                return dnnl::cpu_isa::sse41;
            case Isa::avx2:
                return dnnl::cpu_isa::avx2;
            case Isa::avx512:
                return dnnl::cpu_isa::avx512_core;
            case Isa::avx512_bf16:
                return dnnl::cpu_isa::avx512_core_bf16;
            case Isa::amx:
                break;
        }
        return dnnl::cpu_isa::all;
    }();
    const dnnl::status status = dnnl::set_max_cpu_isa(limit);
    require(status == dnnl::status::success, ErrorCode::internal,
            "the matrix library was used before the first device was made, so it can't be limited to {}",
            name_of(isa));
}

}  // namespace longhaul::kernels
