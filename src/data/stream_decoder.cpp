// Streamed decoding: the last token stays as context, as what a token decodes to may depend on the one
// before.
#include "base/utf8.h"
#include "data/tokenizer.h"

namespace longhaul::data {

std::string StreamDecoder::push(TokenId id) {
    ids_.push_back(id);
    const std::string text = tokenizer_->decode(ids_);
    const std::size_t complete = text.size() - unfinished_utf8(text);
    std::string out = complete > given_ ? text.substr(given_, complete - given_) : "";
    given_ = std::max(given_, complete);
    if (complete == text.size() && ids_.size() > kContext) {
        ids_.erase(ids_.begin(), ids_.end() - kContext);
        given_ = tokenizer_->decode(ids_).size();
    }
    return out;
}

std::string StreamDecoder::finish() {
    const std::string text = tokenizer_->decode(ids_);
    std::string out = text.size() > given_ ? text.substr(given_) : "";
    ids_.clear();
    given_ = 0;
    return out;
}

}  // namespace longhaul::data
