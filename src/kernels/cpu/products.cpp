// Tiles, primitives and their cache.
#include "kernels/cpu/products.h"

#include <algorithm>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
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
    std::int64_t depth;  // of k, that one call of the library sums
};

std::int64_t piece(std::int64_t extent, std::int64_t most) {
    return equal_piece<std::int64_t>(extent, most, 16);
}

// Halves a tile until there are enough for many threads or each is little work.
Tiling small_tiles(const Product& p) {
    Tiling tile{std::min<std::int64_t>(512, round_up<std::int64_t>(p.m, 16)),
                std::min<std::int64_t>(512, round_up<std::int64_t>(p.n, 16)), p.k};
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

// Large enough to run near the peak, small enough that many threads find work; a function of the shape alone.
// Measured: docs/performance.md.
Tiling tiling(const Product& p) {
    constexpr std::int64_t kLong = 8192;
    if (p.a.column_step != 1) {
        // Packing a transposed operand is paid once for each tile of a row.
        if (p.m * p.n >= 2 << 20) return {piece(p.m, 384), piece(p.n, 1024), p.k};
        return small_tiles(p);
    }
    // A long sum reads its operands from memory; in parts they stay in the cache.
    if (p.k > kLong && !(p.accumulate && p.c_dtype == DType::bf16))
        return {piece(p.m, 320), piece(p.n, 384), piece(p.k, 3200)};
    if (p.n > kLong) return {piece(p.m, 640), 512, p.k};
    // The library's tile kernels want whole, dense rows of c; in fp32 that helps only where b is transposed.
    const bool whole_rows = p.a.dtype == DType::bf16 || (p.n <= 1024 && p.b.column_step != 1);
    if (whole_rows && p.c_step == p.n && p.m >= 512) return {256, p.n, p.k};
    return small_tiles(p);
}

// `x` from its element (row, column) on.
Operand from(Operand x, std::int64_t row, std::int64_t column) {
    x.data = static_cast<const std::byte*>(x.data) +
             (row * x.row_step + column * x.column_step) * static_cast<std::int64_t>(size_of(x.dtype));
    return x;
}

// Rows and columns of c from (row, column) on, with all of k.
Product tile_of(const Product& p, const Tiling& tile, std::int64_t row, std::int64_t column) {
    Product t = p;
    t.m = std::min(tile.rows, p.m - row);
    t.n = std::min(tile.columns, p.n - column);
    t.a = from(p.a, row, 0);
    t.b = from(p.b, 0, column);
    if (p.bias != nullptr) t.bias = p.bias + column;
    t.c = const_cast<void*>(from({p.c, p.c_dtype, p.c_step, 1}, row, column).data);
    return t;
}

// The terms of the sums from `first` on: added to what earlier ones left in c.
Product depth_of(const Product& p, std::int64_t first, std::int64_t depth) {
    Product part = p;
    part.k = std::min(depth, p.k - first);
    part.a = from(p.a, 0, first);
    part.b = from(p.b, first, 0);
    if (first > 0) {
        part.accumulate = true;
        part.bias = nullptr;
    }
    return part;
}

}  // namespace

struct Products::Cache {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    std::mutex mutex;
    std::unordered_map<Key, std::unique_ptr<Primitive>, KeyHash> primitives;

    const Primitive& find(const Product& product);
    std::unique_ptr<Primitive> make(const Key& key) const;
    void execute(const Product& product, ScratchPool& pool);
    void execute_in_parts(const Product& product, std::int64_t depth, ScratchPool& pool);
};

const Primitive& Products::Cache::find(const Product& p) {
    const Key key{p.m,
                  p.n,
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

void Products::Cache::execute(const Product& p, ScratchPool& pool) {
    const SingleThread single;
    const Primitive& primitive = find(p);
    // The library takes no pointers to const.
    const auto wrap = [&](const dnnl::memory::desc& description, const void* data) {
        return dnnl::memory(description, engine, const_cast<void*>(data));
    };
    const ScratchPool::Block scratch(pool, primitive.scratch.get_size());
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, wrap(primitive.a, p.a.data)},
        {DNNL_ARG_WEIGHTS, wrap(primitive.b, p.b.data)},
        {DNNL_ARG_DST, wrap(primitive.c, p.c)},
        {DNNL_ARG_SCRATCHPAD, wrap(primitive.scratch, scratch.data())}};
    if (p.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, wrap(primitive.bias, p.bias));
    dnnl::stream stream(engine);
    primitive.matmul.execute(stream, arguments);
    stream.wait();
}

// Part after part of k, in order. A bf16 result is summed in fp32 and rounded once.
void Products::Cache::execute_in_parts(const Product& p, std::int64_t depth, ScratchPool& pool) {
    if (p.c_dtype == DType::f32) {
        for (std::int64_t first = 0; first < p.k; first += depth) execute(depth_of(p, first, depth), pool);
        return;
    }
    const ScratchPool::Block block(pool, static_cast<std::size_t>(p.m * p.n) * sizeof(float));
    const std::span sums(block.as<float>(), static_cast<std::size_t>(p.m * p.n));
    Product wide = p;
    wide.c = sums.data();
    wide.c_dtype = DType::f32;
    wide.c_step = p.n;
    execute_in_parts(wide, depth, pool);
    for (std::int64_t i = 0; i < p.m; ++i) {
        const auto row = sums.subspan(static_cast<std::size_t>(i * p.n), static_cast<std::size_t>(p.n));
        std::transform(row.begin(), row.end(), static_cast<bf16*>(p.c) + i * p.c_step,
                       [](float x) { return bf16(x); });
    }
}

Products::Products() : cache_(std::make_unique<Cache>()) {}
Products::~Products() = default;

void Products::run(const Device& device, const Product& product) {
    const Tiling tile = tiling(product);
    const std::int64_t rows = div_ceil(product.m, tile.rows);
    const std::int64_t columns = div_ceil(product.n, tile.columns);
    ScratchPool& pool = device.state().scratch;
    parallel_for(rows * columns, [&](std::int64_t index) {
        const Product part = tile_of(product, tile, index % rows * tile.rows, index / rows * tile.columns);
        if (tile.depth >= product.k) {
            cache_->execute(part, pool);
        } else {
            cache_->execute_in_parts(part, tile.depth, pool);
        }
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
