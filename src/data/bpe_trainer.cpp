// Merges the most frequent pair again and again; only words that hold it are touched.
#include "data/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/time.h"

namespace longhaul::data {

namespace {

constexpr std::int64_t kBytes = 256;

using Pair = std::uint64_t;

constexpr Pair pair_of(TokenId left, TokenId right) {
    return static_cast<Pair>(static_cast<std::uint32_t>(left)) << 32U | static_cast<std::uint32_t>(right);
}

struct PairInfo {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // that held it once
};

struct Candidate {
    std::int64_t count;
    Pair pair;
    // The top: the most frequent, of equals the smallest.
    friend bool operator<(const Candidate& a, const Candidate& b) {
        return a.count != b.count ? a.count < b.count : a.pair > b.pair;
    }
};

class Trainer {
public:
    explicit Trainer(const std::vector<std::pair<std::string, std::int64_t>>& words) {
        for (std::int64_t b = 0; b < kBytes; ++b) token_of(std::string(1, static_cast<char>(b)));
        words_.reserve(words.size());
        for (const auto& [text, count] : words) {
            if (text.size() < 2) continue;
            Word word{{}, count};
            for (const char c : text) word.symbols.push_back(static_cast<std::uint8_t>(c));
            words_.push_back(std::move(word));
        }
        for (std::uint32_t w = 0; w < words_.size(); ++w) {
            const Word& word = words_[w];
            for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i)
                add(pair_of(word.symbols[i], word.symbols[i + 1]), word.count, w);
        }
        for (const auto& [pair, info] : pairs_) heap_.push({info.count, pair});
    }

    TrainedBpe run(std::int64_t merges, const BpeTrainOptions& options) {
        const Stopwatch watch;
        double shown = 0;
        while (made() < merges && !heap_.empty()) {
            const Candidate best = heap_.top();
            heap_.pop();
            const auto found = pairs_.find(best.pair);
            if (found == pairs_.end()) continue;
            // Counts that fell since are offered again as they are now.
            if (found->second.count != best.count) {
                if (found->second.count > 0) heap_.push({found->second.count, best.pair});
                continue;
            }
            if (best.count < options.min_count) break;
            merge(best.pair);
            if (options.progress && watch.seconds() - shown > 0.1) {
                shown = watch.seconds();
                options.progress(made(), merges);
            }
        }
        if (options.progress) options.progress(made(), merges);
        return std::move(out_);
    }

private:
    struct Word {
        std::vector<TokenId> symbols;
        std::int64_t count;
    };

    [[nodiscard]] std::int64_t made() const { return std::ssize(out_.tokens) - kBytes; }

    // Bytes that some other pair made already keep their token.
    TokenId token_of(const std::string& text) {
        const auto [place, is_new] = ids_.emplace(text, static_cast<TokenId>(out_.tokens.size()));
        if (is_new) out_.tokens.push_back(text);
        return place->second;
    }

    void add(Pair pair, std::int64_t count, std::uint32_t word) {
        PairInfo& info = pairs_[pair];
        info.count += count;
        if (info.words.empty() || info.words.back() != word) info.words.push_back(word);
    }

    void merge(Pair pair) {
        const auto left = static_cast<TokenId>(pair >> 32U);
        const auto right = static_cast<TokenId>(pair & 0xFFFFFFFFU);
        const TokenId made = token_of(out_.tokens[static_cast<std::size_t>(left)] +
                                      out_.tokens[static_cast<std::size_t>(right)]);
        // A pair can come back, when one of its halves is made in another way.
        if (merged_.insert(pair).second) out_.merges.emplace_back(left, right);
        const std::vector<std::uint32_t> holders = std::move(pairs_.at(pair).words);
        touched_.clear();
        for (const std::uint32_t w : holders) rewrite(w, left, right, made);
        pairs_.erase(pair);
        std::sort(touched_.begin(), touched_.end());
        touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
        for (const Pair p : touched_) heap_.push({pairs_.at(p).count, p});
    }

    // All pairs of the word are taken out of the counts, and those of the rewritten word put in.
    void rewrite(std::uint32_t w, TokenId left, TokenId right, TokenId made) {
        std::vector<TokenId>& symbols = words_[w].symbols;
        const std::int64_t count = words_[w].count;
        bool holds = false;
        for (std::size_t i = 0; i + 1 < symbols.size() && !holds; ++i)
            holds = symbols[i] == left && symbols[i + 1] == right;
        if (!holds) return;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
            pairs_.at(pair_of(symbols[i], symbols[i + 1])).count -= count;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < symbols.size(); ++i) {
            const bool joins = i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
            symbols[kept++] = joins ? made : symbols[i];
            if (joins) ++i;
        }
        symbols.resize(kept);
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const Pair pair = pair_of(symbols[i], symbols[i + 1]);
            if (symbols[i] == made || symbols[i + 1] == made) {
                add(pair, count, w);
                touched_.push_back(pair);
            } else {
                pairs_.at(pair).count += count;
            }
        }
    }

    TrainedBpe out_;
    std::vector<Word> words_;
    std::unordered_map<Pair, PairInfo> pairs_;
    std::priority_queue<Candidate> heap_;
    std::vector<Pair> touched_;
    std::unordered_set<Pair> merged_;
    std::unordered_map<std::string, TokenId> ids_;
};

}  // namespace

TrainedBpe train_bpe(const std::vector<std::pair<std::string, std::int64_t>>& words,
                     std::int64_t special_count, const BpeTrainOptions& options) {
    require(options.vocab_size >= kBytes + special_count, ErrorCode::bad_config,
            "a vocabulary of {} is too small: the 256 bytes and {} special tokens are {} already",
            options.vocab_size, special_count, kBytes + special_count);
    return Trainer(words).run(options.vocab_size - kBytes - special_count, options);
}

}  // namespace longhaul::data
