// Pieces of text go to a fixed number of tables in turn, which threads fill and which are merged at the end.
#include "data/word_counts.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/parallel_for.h"
#include "base/time.h"
#include "data/added_tokens.h"
#include "data/bpe_model.h"
#include "data/documents.h"
#include "data/pretokenizer.h"

namespace longhaul::data {

namespace {

constexpr std::size_t kTables = 8;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxLine = std::size_t{1} << 29U;
// Longer words are data, not language.
constexpr std::size_t kLongestWord = 1024;

using Counts = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;

std::uint64_t total_size(const std::vector<std::string>& inputs) {
    std::uint64_t total = 0;
    for (const std::string& input : inputs) {
        std::error_code error;
        const auto size = std::filesystem::file_size(input, error);
        if (error) return 0;
        total += size;
    }
    return total;
}

struct NamedPiece {
    std::string file;
    Piece piece;
};

class Table {
public:
    Table(const PreTokenizer& cutter, const AddedTokenFinder& special)
        : cutter_(&cutter), scratch_(cutter), special_(&special) {}

    void add(NamedPiece& named, const std::string& json_key) {
        Piece& piece = named.piece;
        if (piece.json) take_json_text(piece, named.file, json_key, kMaxLine);
        text_bytes_ += piece.text.size();
        parts_.clear();
        special_->split(piece.text, parts_);
        for (const AddedTokenFinder::Part& part : parts_) {
            if (part.id >= 0) continue;
            for (const std::string_view word : cutter_->split(part.text, true, false, scratch_))
                add_word(word);
        }
    }

    // Drops the rarest until at most `limit` are left.
    void shrink(std::size_t limit) {
        for (std::int64_t least = 1; counts_.size() > limit; ++least) {
            std::erase_if(counts_, [least](const auto& entry) { return entry.second <= least; });
            dropped_ = true;
        }
    }
    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] std::uint64_t text_bytes() const { return text_bytes_; }
    [[nodiscard]] bool dropped() const { return dropped_; }

private:
    void add_word(std::string_view word) {
        if (word.size() > kLongestWord) return;
        const auto found = counts_.find(word);
        if (found == counts_.end()) {
            counts_.emplace(word, 1);
        } else {
            ++found->second;
        }
    }

    const PreTokenizer* cutter_;
    PreTokenizer::Scratch scratch_;
    const AddedTokenFinder* special_;
    Counts counts_;
    std::vector<AddedTokenFinder::Part> parts_;
    std::uint64_t text_bytes_ = 0;
    bool dropped_ = false;
};

AddedTokenFinder finder_of(const std::vector<std::string>& texts) {
    std::vector<AddedToken> tokens;
    for (const std::string& text : texts) {
        tokens.emplace_back();
        tokens.back().text = text;
        tokens.back().id = 0;
    }
    return AddedTokenFinder(tokens);
}

// Text is cut as the tokenizer that is trained from it will cut it.
Json split_by(const std::string& pattern) {
    return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
}

class Counter {
public:
    explicit Counter(const WordCountOptions& options)
        : options_(options), cutter_(split_by(options.pattern)), special_(finder_of(options.special_tokens)) {
        for (std::size_t i = 0; i < kTables; ++i) tables_.emplace_back(cutter_, special_);
    }

    WordCounts run() {
        const std::uint64_t total = total_size(options_.inputs);
        std::uint64_t before = 0;
        for (const std::string& input : options_.inputs) {
            const auto reader = options_.jsonl || is_jsonl_name(input)
                                    ? read_jsonl(input, kMaxLine)
                                    : read_text(input, Separator(), kPieceBytes);
            for (Piece piece; reader->next(piece); piece = Piece()) {
                waiting_.push_back({input, std::move(piece)});
                waiting_bytes_ += waiting_.back().piece.text.size();
                if (waiting_bytes_ < kTables * kPieceBytes) continue;
                count_waiting();
                if (options_.progress && since_progress_.seconds() > 0.1) {
                    options_.progress(before + reader->consumed(), total);
                    since_progress_.restart();
                }
            }
            before += reader->consumed();
        }
        count_waiting();
        if (options_.progress) options_.progress(before, total);
        return merged();
    }

private:
    void count_waiting() {
        parallel_for(kTables, [&](std::int64_t t) {
            Table& table = tables_[static_cast<std::size_t>(t)];
            for (auto i = static_cast<std::size_t>(t); i < waiting_.size(); i += kTables)
                table.add(waiting_[i], options_.json_key);
            table.shrink(options_.max_words / kTables);
        });
        waiting_.clear();
        waiting_bytes_ = 0;
    }

    WordCounts merged() const {
        WordCounts out;
        Counts all;
        for (const Table& table : tables_) {
            for (const auto& [word, count] : table.counts()) all[word] += count;
            out.text_bytes += table.text_bytes();
            out.dropped = out.dropped || table.dropped();
        }
        out.words.assign(all.begin(), all.end());
        std::sort(out.words.begin(), out.words.end());
        return out;
    }

    const WordCountOptions& options_;
    PreTokenizer cutter_;
    AddedTokenFinder special_;
    std::deque<Table> tables_;  // tables can't be copied
    std::vector<NamedPiece> waiting_;
    std::size_t waiting_bytes_ = 0;
    Stopwatch since_progress_;
};

}  // namespace

WordCounts count_words(const WordCountOptions& options) {
    return Counter(options).run();
}

}  // namespace longhaul::data
