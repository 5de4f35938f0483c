// Ops refuse arguments whose shapes, types or memory don't fit, and say which op it was, on every device.
#include <gmock/gmock.h>

#include "base/error.h"
#include "kernels/support.h"

namespace longhaul::kernels::test {
namespace {

using testing::StartsWith;

// What may differ in an argument without harm.
enum Free : unsigned { kNothing = 0, kRows = 1, kType = 2, kLeftOut = 4 };

struct Argument {
    std::string name;
    std::int64_t rows;  // 0: a vector
    std::int64_t columns;
    DType dtype = DType::f32;
    unsigned free = kNothing;
};

using Views = std::vector<TensorView>;

struct Call {
    std::string op;
    std::vector<Argument> arguments;
    std::function<void(const Device&, const Views&)> run;
    friend std::ostream& operator<<(std::ostream& out, const Call& call) { return out << call.op; }
};

constexpr std::int64_t kTokens = 12;
constexpr std::int64_t kHidden = 16;
constexpr std::int64_t kOut = 24;
constexpr AttentionShape kAttention{2, 6, 6, 4, 2, 4, 0};

std::vector<Call> linear_calls() {
    const Argument x{"x", kTokens, kHidden};
    const Argument dy{"dy", kTokens, kOut};
    const Argument weight{"weight", kOut, kHidden};
    return {{"linear_forward",
             {x, weight, {"bias", 0, kOut, DType::f32, kLeftOut}, {"y", kTokens, kOut}},
             [](const Device& d, const Views& v) { linear_forward(d, v[0], v[1], v[2], v[3]); }},
            {"linear_input_grad",
             {dy, weight, {"dx", kTokens, kHidden}},
             [](const Device& d, const Views& v) { linear_input_grad(d, v[0], v[1], v[2]); }},
            {"linear_weight_grad",
             {dy, x, {"dweight", kOut, kHidden}, {"dbias", 0, kOut, DType::f32, kLeftOut}},
             [](const Device& d, const Views& v) { linear_weight_grad(d, v[0], v[1], v[2], v[3]); }}};
}

std::vector<Call> norm_calls() {
    const Argument x{"x", kTokens, kHidden};
    const Argument y{"y", kTokens, kHidden};
    const Argument dy{"dy", kTokens, kHidden};
    const Argument dx{"dx", kTokens, kHidden};
    const Argument weight{"weight", 0, kHidden};
    const Argument dweight{"dweight", 0, kHidden};
    const Argument bias{"bias", 0, kHidden, DType::f32, kLeftOut};
    const Argument mean{"mean", 0, kTokens};
    const Argument rstd{"rstd", 0, kTokens};
    return {{"layernorm_forward",
             {x, weight, bias, y, mean, rstd},
             [](const Device& d, const Views& v) {
                 layernorm_forward(d, v[0], v[1], v[2], 1e-5F, v[3], v[4], v[5]);
             }},
            {"layernorm_backward",
             {dy, x, weight, mean, rstd, dx, dweight, bias},
             [](const Device& d, const Views& v) {
                 layernorm_backward(d, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
             }},
            {"rmsnorm_forward",
             {x, weight, y, rstd},
             [](const Device& d, const Views& v) { rmsnorm_forward(d, v[0], v[1], 1e-5F, v[2], v[3]); }},
            {"rmsnorm_backward", {dy, x, weight, rstd, dx, dweight}, [](const Device& d, const Views& v) {
                 rmsnorm_backward(d, v[0], v[1], v[2], v[3], v[4], v[5]);
             }}};
}

std::vector<Call> activation_calls() {
    const Argument x{"x", kTokens, kHidden};
    const Argument y{"y", kTokens, kHidden};
    const Argument bias{"bias", 0, kHidden, DType::f32, kLeftOut};
    const Argument gate_up{"gate_up", kTokens, 2 * kHidden};
    return {{"bias_gelu_forward",
             {x, bias, y},
             [](const Device& d, const Views& v) { bias_gelu_forward(d, v[0], v[1], v[2]); }},
            {"bias_gelu_backward",
             {y, x, bias, {"dx", kTokens, kHidden}, bias},
             [](const Device& d, const Views& v) { bias_gelu_backward(d, v[0], v[1], v[2], v[3], v[4]); }},
            {"swiglu_forward",
             {gate_up, y},
             [](const Device& d, const Views& v) { swiglu_forward(d, v[0], v[1]); }},
            {"swiglu_backward",
             {y, gate_up, {"d_gate_up", kTokens, 2 * kHidden}},
             [](const Device& d, const Views& v) { swiglu_backward(d, v[0], v[1], v[2]); }},
            {"add", {x, x, y}, [](const Device& d, const Views& v) { add(d, v[0], v[1], v[2]); }},
            {"convert",
             {{"from", kTokens, kHidden, DType::f32, kType}, {"to", kTokens, kHidden, DType::bf16, kType}},
             [](const Device& d, const Views& v) { convert(d, v[0], v[1]); }}};
}

std::vector<Call> attention_calls() {
    const Argument q{"q", 12, 16};
    const Argument k{"k", 12, 8};
    const Argument lse{"lse", 0, 48};
    return {{"attention_forward",
             {q, k, k, q, lse},
             [](const Device& d, const Views& v) {
                 attention_forward(d, kAttention, v[0], v[1], v[2], {}, v[3], v[4]);
             }},
            {"attention_backward",
             {q, k, k, q, lse, q, q, k, k},
             [](const Device& d, const Views& v) {
                 attention_backward(d, kAttention, v[0], v[1], v[2], v[3], v[4], v[5], {}, v[6], v[7], v[8]);
             }},
            {"rope",
             {{"table", 6, 4, DType::f32, kRows}, {"x", 12, 16, DType::f32, kRows | kType}},
             [](const Device& d, const Views& v) { rope(d, v[0], 4, 6, 0, false, v[1]); }},
            {"dropout", {q, q}, [](const Device& d, const Views& v) {
                 dropout(d, v[0], {.probability = 0.5F, .key = 1}, 6, v[1]);
             }}};
}

std::vector<Call> end_calls() {
    const Argument ids{"ids", 0, kTokens, DType::i32};
    const Argument logits{"logits", kTokens, kOut};
    return {{"embedding_forward",
             {ids,
              {"table", 19, 16, DType::f32, kRows},
              {"positions", 6, 16, DType::f32, kRows | kLeftOut},
              {"y", kTokens, 16}},
             [](const Device& d, const Views& v) { embedding_forward(d, v[0], v[1], v[2], 6, 0, v[3]); }},
            {"embedding_backward",
             {ids,
              {"dy", kTokens, 16, DType::f32, kType},
              {"dtable", 19, 16, DType::f32, kRows},
              {"dpositions", 6, 16, DType::f32, kRows | kLeftOut}},
             [](const Device& d, const Views& v) { embedding_backward(d, v[0], v[1], 6, v[2], v[3]); }},
            {"cross_entropy",
             {logits,
              {"targets", 0, kTokens, DType::i32},
              {"losses", 0, kTokens},
              {"dlogits", kTokens, kOut, DType::f32, kType | kLeftOut}},
             [](const Device& d, const Views& v) { cross_entropy(d, v[0], v[1], 1.0F, v[2], v[3]); }}};
}

std::vector<Call> all_calls() {
    std::vector<Call> calls;
    for (const auto& some :
         {linear_calls(), norm_calls(), activation_calls(), attention_calls(), end_calls()})
        calls.insert(calls.end(), some.begin(), some.end());
    return calls;
}

// Memory for any argument here, with room for what a wrong one would add; zeros are valid ids, too.
struct Memory {
    std::vector<std::vector<float>> buffers;
    Views views;

    explicit Memory(const Call& call) {
        for (const Argument& a : call.arguments) {
            buffers.emplace_back(4096, 0.0F);
            const Shape shape = a.rows == 0 ? Shape{a.columns} : Shape{a.rows, a.columns};
            views.emplace_back(buffers.back().data(), a.dtype, shape);
        }
    }
};

void expect_refused(const Call& call, const Views& views, const std::string& what) {
    for (const Device* device : {&fast(), &plain()}) {
        try {
            call.run(*device, views);
            ADD_FAILURE() << call.op << " took " << what;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::internal) << error.what();
            EXPECT_THAT(error.what(), StartsWith(call.op + ": ")) << what;
        }
    }
}

class WrongUse : public testing::TestWithParam<Call> {};

TEST_P(WrongUse, TheArgumentsOfTheseTestsFit) {
    Memory memory(GetParam());
    for (const Device* device : {&fast(), &plain()}) EXPECT_NO_THROW(GetParam().run(*device, memory.views));
}

TEST_P(WrongUse, OneMoreRowOrColumn) {
    const Call& call = GetParam();
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const Argument& a = call.arguments[i];
        Memory memory(call);
        TensorView& view = memory.views[i];
        const TensorView good = view;
        view = a.rows == 0 ? TensorView(good.data, a.dtype, Shape{a.columns + 1})
                           : TensorView(good.data, a.dtype, Shape{a.rows, a.columns + 1});
        expect_refused(call, memory.views, a.name + " with a column too many");
        if (a.rows == 0 || (a.free & kRows) != 0) continue;
        view = TensorView(good.data, a.dtype, Shape{a.rows + 1, a.columns});
        expect_refused(call, memory.views, a.name + " with a row too many");
    }
}

TEST_P(WrongUse, AnotherType) {
    const Call& call = GetParam();
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const Argument& a = call.arguments[i];
        for (const DType wrong : {DType::bf16, DType::f32, DType::i32, DType::u16}) {
            const bool compute = wrong == DType::bf16 || wrong == DType::f32;
            if (wrong == a.dtype || (compute && (a.free & kType) != 0)) continue;
            Memory memory(call);
            memory.views[i].dtype = wrong;
            expect_refused(call, memory.views, a.name + " of type " + std::string(name_of(wrong)));
        }
    }
}

TEST_P(WrongUse, NoMemoryOrRowsThatOverlap) {
    const Call& call = GetParam();
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const Argument& a = call.arguments[i];
        Memory memory(call);
        const TensorView good = memory.views[i];
        if (a.rows > 0) {
            memory.views[i].row_stride = a.columns - 1;
            expect_refused(call, memory.views, a.name + " whose rows overlap");
            memory.views[i] = good;
        }
        if ((a.free & kLeftOut) != 0) continue;
        memory.views[i].data = nullptr;
        expect_refused(call, memory.views, a.name + " without memory");
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, WrongUse, testing::ValuesIn(all_calls()),
                         [](const auto& one) { return one.param.op; });

TEST(WrongUseOfRanges, OptimizersTakeRangesOfOneSize) {
    std::vector<float> right(16);
    std::vector<float> wrong(15);
    std::vector<bf16> copy(15);
    const AdamStep step{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    for (const Device* device : {&fast(), &plain()}) {
        EXPECT_THROW(adamw_update(*device, step, right, wrong, right, right, {}), Error);
        EXPECT_THROW(adamw_update(*device, step, right, right, wrong, right, {}), Error);
        EXPECT_THROW(adamw_update(*device, step, right, right, right, wrong, {}), Error);
        EXPECT_THROW(adamw_update(*device, step, right, right, right, right, copy), Error);
        EXPECT_THROW(lamb_direction(*device, step, right, wrong, right, right), Error);
        EXPECT_THROW(lamb_direction(*device, step, right, right, wrong, right), Error);
        EXPECT_THROW(lamb_direction(*device, step, right, right, right, wrong), Error);
        EXPECT_THROW(lamb_apply(*device, 0.1F, right, wrong, {}), Error);
        EXPECT_THROW(lamb_apply(*device, 0.1F, right, right, copy), Error);
    }
}

TEST(WrongUseOfAttention, ShapesThatMakeNoSense) {
    Matrix q(DType::f32, 12, 16);
    Matrix k(DType::f32, 12, 8);
    Matrix lse(DType::f32, 1, 48);
    const auto run = [&](const AttentionShape& shape, const Dropout& mask) {
        for (const Device* device : {&fast(), &plain()}) {
            Matrix o(DType::f32, 12, 16);
            EXPECT_THROW(
                attention_forward(*device, shape, q.view(), k.view(), k.view(), mask, o.view(), lse.vector()),
                Error);
        }
    };
    run({2, 6, 5, 4, 2, 4, 0}, {});   // fewer keys than queries
    run({2, 6, 6, 4, 3, 4, 0}, {});   // heads that the key heads don't divide
    run({2, 6, 6, 4, 0, 4, 0}, {});   // no key heads
    run({2, 6, 6, 4, 2, 0, 0}, {});   // no width
    run({2, 6, 6, 4, 2, 4, -1}, {});  // a negative window
    run(kAttention, {.probability = 1.0F});
    run(kAttention, {.probability = -0.1F});
    run(kAttention, {.probability = 0.5F, .first_sample = -1});
}

}  // namespace
}  // namespace longhaul::kernels::test
