// Reading safetensors: every number of the header is checked before it is used.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace longhaul::checkpoint {

namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format's numbers are little endian");

// As other readers: a header longer than this is an attack or damage.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr int kMaxDepth = 3;  // tensors -> one tensor -> its shape

struct DtypeSize {
    std::string_view name;
    std::size_t bytes;
};
constexpr std::array kDtypes = {
    DtypeSize{"F64", 8},  DtypeSize{"F32", 4},     DtypeSize{"F16", 2},     DtypeSize{"BF16", 2},
    DtypeSize{"I64", 8},  DtypeSize{"I32", 4},     DtypeSize{"I16", 2},     DtypeSize{"I8", 1},
    DtypeSize{"U64", 8},  DtypeSize{"U32", 4},     DtypeSize{"U16", 2},     DtypeSize{"U8", 1},
    DtypeSize{"BOOL", 1}, DtypeSize{"F8_E4M3", 1}, DtypeSize{"F8_E5M2", 1}, DtypeSize{"F8_E8M0", 1}};

std::optional<std::size_t> dtype_bytes(std::string_view name) {
    const auto found =
        std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeSize& d) { return d.name == name; });
    return found == kDtypes.end() ? std::nullopt : std::optional(found->bytes);
}

// For messages: a name from a damaged file may be anything.
std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 120;
    std::string out;
    for (const char c : text.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '?';
    return text.size() > kMost ? out + "..." : out;
}

Json parse_header(std::string_view text, const std::string& file) {
    std::set<std::string> names;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
        require(depth <= kMaxDepth, ErrorCode::bad_data, "{}: the header is nested too deeply", file);
        if (event == Json::parse_event_t::key && depth == 1) {
            const auto& name = value.get_ref<const std::string&>();
            require(names.insert(name).second, ErrorCode::bad_data, "{}: tensor {} is listed twice", file,
                    shown(name));
        }
        return true;
    };
    try {
        Json header = Json::parse(text.begin(), text.end(), watch);
        require(header.is_object(), ErrorCode::bad_data, "{}: the header is not a JSON object", file);
        return header;
    } catch (const Json::exception& error) {
        fail(ErrorCode::bad_data,
             "{}: the header is not JSON ({}); the file is damaged or no safetensors file", file,
             shown(error.what()));
    }
}

std::optional<std::uint64_t> whole(const Json& value) {
    if (!value.is_number_unsigned()) return std::nullopt;
    return value.get<std::uint64_t>();
}

TensorEntry parse_entry(const std::string& name, const Json& value, std::size_t data_bytes,
                        const std::string& file) {
    const auto check = [&](bool fine, std::string_view what) {
        require(fine, ErrorCode::bad_data, "{}: tensor {}: {}", file, shown(name), what);
    };
    check(value.is_object() && value.contains("dtype") && value.contains("shape") &&
              value.contains("data_offsets"),
          "needs dtype, shape and data_offsets");
    const Json& dtype = value["dtype"];
    const Json& shape = value["shape"];
    const Json& offsets = value["data_offsets"];
    check(dtype.is_string(), "dtype is not a string");
    check(shape.is_array(), "shape is not a list");
    check(offsets.is_array() && offsets.size() == 2, "data_offsets is not a pair");

    TensorEntry entry;
    entry.name = name;
    entry.dtype = dtype.get<std::string>();
    std::int64_t count = 1;
    for (const Json& extent : shape) {
        const auto given = whole(extent);
        check(given && *given <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
              "an extent of its shape is not a whole number");
        entry.shape.push_back(static_cast<std::int64_t>(*given));
        check(!__builtin_mul_overflow(count, entry.shape.back(), &count), "its shape has too many elements");
    }
    const auto begin = whole(offsets[0]);
    const auto end = whole(offsets[1]);
    check(begin && end, "data_offsets are not whole numbers");
    check(
        *begin <= *end && *end <= data_bytes,
        fmt::format("its bytes {}..{} lie outside of the {} bytes of data: the file is cut short or damaged",
                    *begin, *end, data_bytes));
    entry.begin = static_cast<std::size_t>(*begin);
    entry.end = static_cast<std::size_t>(*end);
    if (const auto item = dtype_bytes(entry.dtype)) {
        std::uint64_t bytes = 0;
        check(!__builtin_mul_overflow(static_cast<std::uint64_t>(count), std::uint64_t{*item}, &bytes) &&
                  bytes == entry.end - entry.begin,
              fmt::format("{} values of {} do not take {} bytes", count, shown(entry.dtype),
                          entry.end - entry.begin));
    }
    return entry;
}

template <typename T>
void widen(std::span<const std::byte> bytes, std::span<float> out, T convert) {
    using Stored = decltype(convert.stored);
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored word;
        std::memcpy(&word, bytes.data() + i * sizeof(Stored), sizeof(Stored));
        out[i] = convert(word);
    }
}

struct FromDouble {
    double stored;
    // A cast of a double beyond float's range is undefined; the format's readers give infinity.
    float operator()(double x) const {
        constexpr double kMost = std::numeric_limits<float>::max();
        if (x > kMost) return std::numeric_limits<float>::infinity();
        if (x < -kMost) return -std::numeric_limits<float>::infinity();
        return static_cast<float>(x);
    }
};
struct FromBrain {
    std::uint16_t stored;
    float operator()(std::uint16_t x) const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16U);
    }
};
struct FromHalf {
    std::uint16_t stored;
    float operator()(std::uint16_t x) const { return half_to_float(x); }
};

}  // namespace

std::int64_t TensorEntry::count() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
}

std::string TensorEntry::shape_text() const {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool TensorEntry::is_float() const {
    return dtype == "F32" || dtype == "BF16" || dtype == "F16" || dtype == "F64";
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : name_(path.string()), map_(path) {
    parse(map_.bytes());
}

SafetensorsReader::SafetensorsReader(std::span<const std::byte> bytes, std::string name)
    : name_(std::move(name)) {
    parse(bytes);
}

void SafetensorsReader::parse(std::span<const std::byte> file) {
    std::uint64_t header_bytes = 0;
    require(file.size() >= sizeof(header_bytes), ErrorCode::bad_data,
            "{} has {} bytes, too few for a safetensors file: it is empty or cut short", name_, file.size());
    std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
    const std::size_t rest = file.size() - sizeof(header_bytes);
    require(header_bytes <= kMaxHeaderBytes && header_bytes <= rest, ErrorCode::bad_data,
            "{}: a header of {} bytes can't be in a file of {}: the file is cut short, damaged or no "
            "safetensors file",
            name_, header_bytes, file.size());
    const std::span<const std::byte> text =
        file.subspan(sizeof(header_bytes), static_cast<std::size_t>(header_bytes));
    data_ = file.subspan(sizeof(header_bytes) + static_cast<std::size_t>(header_bytes));

    const Json header = parse_header({reinterpret_cast<const char*>(text.data()), text.size()}, name_);
    for (const auto& [key, value] : header.items()) {
        if (key != "__metadata__") {
            entries_.push_back(parse_entry(key, value, data_.size(), name_));
            continue;
        }
        require(value.is_object(), ErrorCode::bad_data, "{}: __metadata__ is not an object", name_);
        for (const auto& [name, text_value] : value.items()) {
            require(text_value.is_string(), ErrorCode::bad_data, "{}: __metadata__ {} is not a string", name_,
                    shown(name));
            metadata_.emplace(name, text_value.get<std::string>());
        }
    }
    std::sort(entries_.begin(), entries_.end(), [](const TensorEntry& a, const TensorEntry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::size_t at = 0;
    for (const TensorEntry& entry : entries_) {
        require(entry.begin == at, ErrorCode::bad_data, "{}: tensor {} {} at byte {} of the data", name_,
                shown(entry.name), entry.begin < at ? "overlaps its neighbour" : "leaves a hole", at);
        at = entry.end;
    }
    require(at == data_.size(), ErrorCode::bad_data, "{}: {} bytes after the last tensor belong to none",
            name_, data_.size() - at);
    index_.reserve(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].name, i);
}

const TensorEntry* SafetensorsReader::find(std::string_view tensor) const {
    const auto found = index_.find(std::string(tensor));
    return found == index_.end() ? nullptr : &entries_[found->second];
}

std::span<const std::byte> SafetensorsReader::bytes(const TensorEntry& entry) const {
    return data_.subspan(entry.begin, entry.end - entry.begin);
}

void SafetensorsReader::read_float(const TensorEntry& entry, std::span<float> out) const {
    require(entry.is_float(), ErrorCode::bad_data, "{}: tensor {} holds {}, not fp32, bf16, fp16 or fp64",
            name_, shown(entry.name), shown(entry.dtype));
    require(entry.count() == static_cast<std::int64_t>(out.size()), ErrorCode::internal,
            "{}: tensor {} has {} values, not {}", name_, shown(entry.name), entry.count(), out.size());
    const std::span<const std::byte> stored = bytes(entry);
    if (entry.dtype == "F32") {
        if (!out.empty()) std::memcpy(out.data(), stored.data(), stored.size());
    } else if (entry.dtype == "BF16") {
        widen(stored, out, FromBrain{});
    } else if (entry.dtype == "F16") {
        widen(stored, out, FromHalf{});
    } else {
        widen(stored, out, FromDouble{});
    }
}

}  // namespace longhaul::checkpoint
