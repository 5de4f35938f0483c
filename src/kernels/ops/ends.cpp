// Embedding and cross-entropy: checks, the ids' included, and choice of the implementation.
#include "kernels/cpu/cpu.h"
#include "kernels/ops/checks.h"
#include "kernels/ops/dispatch.h"
#include "kernels/profile.h"
#include "kernels/reference/reference.h"

namespace longhaul::kernels {

namespace {

// An id that the table or the vocabulary doesn't have is a fault of the data. Negative ones mean padding.
void check_ids(const char* op, const char* name, const ConstTensorView& ids, std::int64_t count,
               std::int64_t limit) {
    check_vector(op, name, ids, DType::i32, count);
    const std::span<const std::int32_t> values(ids.as<std::int32_t>(), static_cast<std::size_t>(count));
    for (std::size_t t = 0; t < values.size(); ++t) {
        require(values[t] < limit, ErrorCode::bad_data,
                "{}: token {} of this batch has the id {}, but the vocabulary ends at {}; was the data "
                "packed with another "
                "tokenizer?",
                op, t, values[t], limit - 1);
    }
}

}  // namespace

void embedding_forward(const Device& device, ConstTensorView ids, ConstTensorView table,
                       ConstTensorView positions, std::int64_t sequence, std::int64_t first_position,
                       TensorView y) {
    constexpr const char* op = "embedding_forward";
    check_compute_type(op, "y", y.dtype);
    check_matrix(op, "y", y, y.dtype, y.rows(), y.columns());
    check_matrix(op, "table", table, y.dtype, table.rows(), y.columns());
    require(table.rows() > 0 || y.rows() == 0, ErrorCode::internal, "{}: the table is empty", op);
    require(sequence > 0 && first_position >= 0, ErrorCode::internal, "{}: sequence {}, first position {}",
            op, sequence, first_position);
    check_ids(op, "ids", ids, y.rows(), table.rows());
    if (positions) {
        check_matrix(op, "positions", positions, y.dtype, positions.rows(), y.columns());
        require(first_position + std::min(sequence, y.rows()) <= positions.rows(), ErrorCode::internal,
                "{}: positions {} to {} are not in a table of {}", op, first_position,
                first_position + std::min(sequence, y.rows()), positions.rows());
    }
    const OpTimer timer(device, op, y.dtype, [&] { return traffic(bytes_of(ids, y, y)); });
    dispatch<cpu::embedding_forward, reference::embedding_forward>(device, ids, table, positions, sequence,
                                                                   first_position, y);
}

void embedding_backward(const Device& device, ConstTensorView ids, ConstTensorView dy, std::int64_t sequence,
                        TensorView dtable, TensorView dpositions) {
    constexpr const char* op = "embedding_backward";
    check_compute_type(op, "dy", dy.dtype);
    check_matrix(op, "dy", dy, dy.dtype, dy.rows(), dy.columns());
    check_matrix(op, "dtable", dtable, DType::f32, dtable.rows(), dy.columns());
    require(sequence > 0, ErrorCode::internal, "{}: the sequence length is {}", op, sequence);
    check_ids(op, "ids", ids, dy.rows(), dtable.rows());
    if (dpositions) {
        check_matrix(op, "dpositions", dpositions, DType::f32, dpositions.rows(), dy.columns());
        require(std::min(sequence, dy.rows()) <= dpositions.rows(), ErrorCode::internal,
                "{}: a sequence of {} is longer than the {} positions", op, sequence, dpositions.rows());
    }
    const OpTimer timer(device, op, dy.dtype, [&] { return traffic(bytes_of(ids, dy, dy, dy)); });
    dispatch<cpu::embedding_backward, reference::embedding_backward>(device, ids, dy, sequence, dtable,
                                                                     dpositions);
}

void cross_entropy(const Device& device, ConstTensorView logits, ConstTensorView targets, float scale,
                   TensorView losses, TensorView dlogits) {
    constexpr const char* op = "cross_entropy";
    check_matrix(op, "logits", logits, DType::f32, logits.rows(), logits.columns());
    require(logits.columns() > 0, ErrorCode::internal, "{}: the vocabulary is empty", op);
    check_ids(op, "targets", targets, logits.rows(), logits.columns());
    check_vector(op, "losses", losses, DType::f32, logits.rows());
    if (dlogits) {
        check_compute_type(op, "dlogits", dlogits.dtype);
        check_matrix(op, "dlogits", dlogits, dlogits.dtype, logits.rows(), logits.columns());
    }
    const OpTimer timer(device, op, logits.dtype, [&] { return traffic(bytes_of(logits, dlogits)); });
    dispatch<cpu::cross_entropy, reference::cross_entropy>(device, logits, targets, scale, losses, dlogits);
}

}  // namespace longhaul::kernels
