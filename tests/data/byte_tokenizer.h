// A tokenizer for tests of packing: a token a byte; counts what it is asked and can be slow, odd or broken.
#pragma once

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "data/tokenizer.h"

namespace longhaul::test {

class ByteTokenizer final : public data::Tokenizer {
public:
    explicit ByteTokenizer(std::int64_t vocab = 257) : vocab_(vocab) {}

    std::vector<data::TokenId> encode(std::string_view text) const override {
        // Times that differ between threads, so that batches finish out of order.
        if (jitter && text.size() % 64 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(text.size() * 7919 % 3000));
        if (text.find("POISON") != std::string_view::npos) throw std::runtime_error("the tokenizer broke");
        longest = std::max<std::size_t>(longest, text.size());
        std::vector<data::TokenId> out;
        out.reserve(text.size());
        for (const char c : text) out.push_back(static_cast<unsigned char>(c));
        return out;
    }
    std::string decode(std::span<const data::TokenId> ids) const override {
        std::string out;
        for (const data::TokenId id : ids)
            out += id == 256 ? std::string("<end>") : std::string(1, static_cast<char>(id));
        return out;
    }
    std::int64_t vocab_size() const override { return vocab_; }
    std::optional<data::TokenId> end_of_document() const override { return 256; }
    std::optional<data::TokenId> id_of(std::string_view) const override { return std::nullopt; }
    std::uint64_t fingerprint() const override { return 0xabcdef; }
    std::vector<std::filesystem::path> files() const override { return {}; }

    bool jitter = false;
    mutable std::atomic<std::size_t> longest{0};

private:
    std::int64_t vocab_;
};

}  // namespace longhaul::test
