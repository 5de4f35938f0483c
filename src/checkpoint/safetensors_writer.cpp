// Writing safetensors: the header's text is made here key by key, so that equal tensors give equal bytes.
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/safetensors.h"

namespace longhaul::checkpoint {

namespace {

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump();
}

std::string header_text(const std::vector<TensorSpec>& specs,
                        const std::map<std::string, std::string>& metadata) {
    std::string text = "{";
    if (!metadata.empty()) {
        text += "\"__metadata__\":{";
        for (const auto& [key, value] : metadata) {
            if (text.back() != '{') text += ',';
            text += quoted(key) + ":" + quoted(value);
        }
        text += '}';
    }
    std::size_t at = 0;
    for (const TensorSpec& spec : specs) {
        if (text.size() > 1) text += ',';
        const std::size_t end = at + spec.bytes();
        text +=
            fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", quoted(spec.name),
                        safetensors_dtype(spec.dtype), fmt::join(spec.shape, ","), at, end);
        at = end;
    }
    text += '}';
    text.resize(round_up<std::size_t>(text.size(), 8), ' ');  // so that the tensors start aligned
    return text;
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return "F32";
        case DType::bf16:
            return "BF16";
        case DType::f16:
            return "F16";
        case DType::i32:
            return "I32";
        case DType::u16:
            return "U16";
        case DType::u8:
            return "U8";
    }
    return "?";
}

std::size_t TensorSpec::bytes() const {
    std::size_t product = size_of(dtype);
    for (const std::int64_t extent : shape) product *= narrow<std::size_t>(extent);
    return product;
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> specs,
                                     const std::map<std::string, std::string>& metadata,
                                     const WriteOptions& options)
    : specs_(std::move(specs)), file_(path, options) {
    const std::string header = header_text(specs_, metadata);
    const auto length = static_cast<std::uint64_t>(header.size());
    file_.write(std::as_bytes(std::span(&length, 1)));
    file_.write(header);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
    const std::size_t index = written_.tensor_hashes.size();
    require(index < specs_.size(), ErrorCode::internal, "{}: more tensors are written than were announced",
            file_.path().string());
    require(bytes.size() == specs_[index].bytes(), ErrorCode::internal,
            "{}: tensor {} takes {} bytes, not {}", file_.path().string(), specs_[index].name,
            specs_[index].bytes(), bytes.size());
    file_.write(bytes);
    written_.tensor_hashes.push_back(hash64(bytes));
}

WrittenFile SafetensorsWriter::finish() {
    require(written_.tensor_hashes.size() == specs_.size(), ErrorCode::internal,
            "{}: {} tensors of {} were written", file_.path().string(), written_.tensor_hashes.size(),
            specs_.size());
    file_.finish();
    written_.bytes = file_.size();
    written_.hash = file_.hash();
    return written_;
}

}  // namespace longhaul::checkpoint
