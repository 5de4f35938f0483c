// Reader and workers of `data pack`.
#include "data/pack_pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/error.h"
#include "base/parallel_for.h"

namespace longhaul::data {

namespace {

// Large enough to keep locks rare, small enough that a few for each thread are little memory.
constexpr std::size_t kBatchBytes = std::size_t{1} << 18U;
constexpr std::size_t kBatchPieces = 4096;

struct Batch {
    std::int64_t number = 0;
    std::vector<Piece> pieces;
    std::string file;  // of all its pieces
};

}  // namespace

// Shared with the reader's thread, which may outlive the pipeline.
struct PackPipeline::Shared {
    // What the reader needs, its own copy.
    std::vector<std::string> inputs;
    bool jsonl = false;
    Separator separator;
    std::size_t piece_bytes = 0;
    std::size_t max_line_bytes = 0;
    std::int64_t limit = 0;  // batches that are read but not taken

    std::mutex mutex;
    std::condition_variable room;
    std::condition_variable work;
    std::condition_variable done;
    std::deque<Batch> todo;
    std::map<std::int64_t, EncodedBatch> encoded;
    std::int64_t read = 0;
    std::int64_t taken = 0;
    bool reader_ended = false;
    bool stop = false;
    std::exception_ptr reader_error;
    std::atomic<std::uint64_t> input_bytes{0};

    // False if everything stops.
    bool push(Batch&& batch) {
        std::unique_lock lock(mutex);
        room.wait(lock, [this] { return stop || read - taken < limit; });
        if (stop) return false;
        batch.number = read++;
        todo.push_back(std::move(batch));
        lock.unlock();
        work.notify_one();
        return true;
    }
};

PackPipeline::PackPipeline(const Tokenizer& tokenizer, const PackOptions& options)
    : shared_(std::make_shared<Shared>()) {
    const int count = options.threads > 0 ? options.threads : threads();
    shared_->inputs = options.inputs;
    shared_->jsonl = options.jsonl;
    shared_->separator = options.separator;
    shared_->piece_bytes = options.piece_bytes;
    shared_->max_line_bytes = options.max_line_bytes;
    shared_->limit = 2 * static_cast<std::int64_t>(count) + 2;
    reader_ = std::thread([shared = shared_] { read_all_inputs(shared); });
    for (int i = 0; i < count; ++i)
        workers_.emplace_back(
            [shared = shared_, &tokenizer, key = options.json_key] { work(shared, tokenizer, key); });
}

PackPipeline::~PackPipeline() {
    std::unique_lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->room.notify_all();
    shared_->work.notify_all();
    // Long enough for a read from a disk.
    const bool ended =
        shared_->done.wait_for(lock, std::chrono::seconds(1), [this] { return shared_->reader_ended; });
    lock.unlock();
    if (ended) {
        reader_.join();
    } else {
        reader_.detach();
    }
    for (std::thread& worker : workers_) worker.join();
}

void PackPipeline::read_all_inputs(const std::shared_ptr<Shared>& shared) {
    std::exception_ptr failure;
    Batch batch;
    bool going = true;
    const auto flush = [&] {
        if (batch.pieces.empty()) return true;
        Batch full;
        full.file = batch.file;
        full.pieces.swap(batch.pieces);
        return shared->push(std::move(full));
    };
    try {
        std::uint64_t before = 0;
        for (const std::string& input : shared->inputs) {
            batch.file = input == "-" ? "standard input" : input;
            const auto reader = shared->jsonl || is_jsonl_name(input)
                                    ? read_jsonl(input, shared->max_line_bytes)
                                    : read_text(input, shared->separator, shared->piece_bytes);
            std::size_t bytes = 0;
            Piece piece;
            while (going && reader->next(piece)) {
                bytes += piece.text.size();
                batch.pieces.push_back(std::move(piece));
                if (bytes >= kBatchBytes || batch.pieces.size() >= kBatchPieces) {
                    going = flush();
                    bytes = 0;
                }
                shared->input_bytes = before + reader->consumed();
            }
            going = going && flush();
            before += reader->consumed();
            shared->input_bytes = before;
            if (!going) break;
        }
    } catch (...) {
        failure = std::current_exception();
        // What was read before the fault comes first: it may have faults of its own.
        (void)flush();
    }
    const std::lock_guard lock(shared->mutex);
    shared->reader_error = failure;
    shared->reader_ended = true;
    shared->work.notify_all();
    shared->done.notify_all();
}

void PackPipeline::work(const std::shared_ptr<Shared>& shared, const Tokenizer& tokenizer,
                        const std::string& json_key) {
    while (true) {
        Batch batch;
        {
            std::unique_lock lock(shared->mutex);
            shared->work.wait(lock,
                              [&] { return shared->stop || !shared->todo.empty() || shared->reader_ended; });
            if (shared->stop || shared->todo.empty()) return;
            batch = std::move(shared->todo.front());
            shared->todo.pop_front();
        }
        EncodedBatch out;
        try {
            out.pieces.reserve(batch.pieces.size());
            for (Piece& piece : batch.pieces) {
                EncodedPiece encoded;
                encoded.ends_document = piece.ends_document;
                if (piece.json) {
                    try {
                        take_json_text(piece, batch.file, json_key, shared->max_line_bytes);
                    } catch (const Error& error) {
                        encoded.error = error.what();
                        piece.text.clear();
                    }
                }
                encoded.text_bytes = static_cast<std::int64_t>(piece.text.size());
                if (!piece.text.empty()) {
                    encoded.tokens =
                        piece.continues ? tokenizer.encode_rest(piece.text) : tokenizer.encode(piece.text);
                }
                piece.text = std::string();
                out.pieces.push_back(std::move(encoded));
            }
        } catch (...) {
            out.failure = std::current_exception();
        }
        const std::lock_guard lock(shared->mutex);
        shared->encoded.emplace(batch.number, std::move(out));
        shared->done.notify_all();
    }
}

PackPipeline::State PackPipeline::next(EncodedBatch& batch) {
    std::unique_lock lock(shared_->mutex);
    const auto ready = [this] { return shared_->encoded.contains(shared_->taken); };
    const auto ended = [this] { return shared_->reader_ended && shared_->taken == shared_->read; };
    shared_->done.wait_for(lock, std::chrono::milliseconds(100), [&] { return ready() || ended(); });
    if (ready()) {
        batch = std::move(shared_->encoded.extract(shared_->taken).mapped());
        ++shared_->taken;
        shared_->room.notify_one();
        return State::batch;
    }
    if (!ended()) return State::waiting;
    if (shared_->reader_error) std::rethrow_exception(shared_->reader_error);
    return State::end;
}

std::uint64_t PackPipeline::input_bytes() const {
    return shared_->input_bytes;
}

}  // namespace longhaul::data
