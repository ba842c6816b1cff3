#include "models/exported/exported_substitutes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include "models/torchscript_attention.h"

namespace sotta {
namespace {

using c10::IValue;
using torch::jit::Stack;
using Substitutes = std::map<std::string, ExportedSubstitute>;

double real(const IValue& value) {
  if (value.isDouble()) return value.toDouble();
  if (value.isBool()) return value.toBool() ? 1 : 0;
  return static_cast<double>(value.toInt());
}

int64_t whole(const IValue& value) {
  return value.isBool() ? int64_t{value.toBool()} : value.toInt();
}

bool is_whole(const Stack& stack) {
  return std::none_of(stack.begin(), stack.end(),
                      [](const IValue& value) { return value.isDouble(); });
}

[[noreturn]] void out_of_range() {
  throw std::runtime_error("a size does not fit in 64 bits");
}

int64_t to_whole(double value) {
  constexpr double kLimit = 9.2e18;
  if (!(std::abs(value) < kLimit)) out_of_range();
  return static_cast<int64_t>(value);
}

// Python rounds quotients down.
int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw std::runtime_error("a size is divided by 0");
  if (b == -1) {
    int64_t negated = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) out_of_range();
    return negated;
  }
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

int64_t checked(bool (*operation)(int64_t, int64_t, int64_t*), int64_t a,
                int64_t b) {
  int64_t result = 0;
  if (operation(a, b, &result)) out_of_range();
  return result;
}

bool add(int64_t a, int64_t b, int64_t* c) {
  return __builtin_add_overflow(a, b, c);
}
bool subtract(int64_t a, int64_t b, int64_t* c) {
  return __builtin_sub_overflow(a, b, c);
}
bool multiply(int64_t a, int64_t b, int64_t* c) {
  return __builtin_mul_overflow(a, b, c);
}

// Whole numbers stay whole.
template <class Whole, class Real>
std::function<IValue(const Stack&)> either(Whole of_whole, Real of_real) {
  return [=](const Stack& stack) -> IValue {
    if (is_whole(stack)) return of_whole(whole(stack[0]), whole(stack[1]));
    return of_real(real(stack[0]), real(stack[1]));
  };
}

template <class Compare>
std::function<IValue(const Stack&)> compare(Compare holds) {
  return [=](const Stack& stack) -> IValue {
    return is_whole(stack) ? holds(whole(stack[0]), whole(stack[1]))
                           : holds(real(stack[0]), real(stack[1]));
  };
}

void define(Substitutes& all, const std::string& target,
            const std::string& arguments,
            std::function<IValue(const Stack&)> compute) {
  all.emplace(target, ExportedSubstitute{
                          torch::jit::parseSchema("sotta::size(" + arguments +
                                                  ") -> Scalar"),
                          [compute = std::move(compute)](Stack& stack) {
                            stack = Stack{compute(stack)};
                          },
                          /*is_positional=*/true, false});
}

void define_arithmetic(Substitutes& all) {
  const std::string two = "Scalar a, Scalar b";
  define(all, "_operator.add", two,
         either([](auto a, auto b) { return checked(add, a, b); },
                [](double a, double b) { return a + b; }));
  define(all, "_operator.sub", two,
         either([](auto a, auto b) { return checked(subtract, a, b); },
                [](double a, double b) { return a - b; }));
  define(all, "_operator.mul", two,
         either([](auto a, auto b) { return checked(multiply, a, b); },
                [](double a, double b) { return a * b; }));
  define(all, "_operator.floordiv", two,
         either(floor_divide,
                [](double a, double b) { return std::floor(a / b); }));
  define(
      all, "_operator.mod", two,
      either([](int64_t a,
                int64_t b) { return b == -1 ? 0 : a - floor_divide(a, b) * b; },
             [](double a, double b) { return a - std::floor(a / b) * b; }));
  define(all, "_operator.pow", two,
         either(
             [](auto a, auto b) {
               return to_whole(
                   std::pow(static_cast<double>(a), static_cast<double>(b)));
             },
             [](double a, double b) { return std::pow(a, b); }));
  define(all, "torch.sym_max", two,
         either([](auto a, auto b) { return std::max(a, b); },
                [](double a, double b) { return std::max(a, b); }));
  define(all, "torch.sym_min", two,
         either([](auto a, auto b) { return std::min(a, b); },
                [](double a, double b) { return std::min(a, b); }));
  define(all, "_operator.truediv", two, [](const Stack& stack) -> IValue {
    return real(stack[0]) / real(stack[1]);
  });
}

void define_comparisons(Substitutes& all) {
  const std::string two = "Scalar a, Scalar b";
  define(all, "_operator.eq", two,
         compare([](auto a, auto b) { return a == b; }));
  define(all, "_operator.ne", two,
         compare([](auto a, auto b) { return a != b; }));
  define(all, "_operator.lt", two,
         compare([](auto a, auto b) { return a < b; }));
  define(all, "_operator.le", two,
         compare([](auto a, auto b) { return a <= b; }));
  define(all, "_operator.gt", two,
         compare([](auto a, auto b) { return a > b; }));
  define(all, "_operator.ge", two,
         compare([](auto a, auto b) { return a >= b; }));
  define(all, "_operator.and_", two,
         compare([](auto a, auto b) { return a != 0 && b != 0; }));
  define(all, "_operator.or_", two,
         compare([](auto a, auto b) { return a != 0 || b != 0; }));
}

void define_conversions(Substitutes& all) {
  const auto negated = [](const Stack& stack) -> IValue {
    if (stack[0].isDouble()) return -stack[0].toDouble();
    return checked(subtract, 0, whole(stack[0]));
  };
  const auto truncated = [](const Stack& stack) -> IValue {
    return stack[0].isDouble() ? to_whole(stack[0].toDouble())
                               : whole(stack[0]);
  };
  define(all, "_operator.neg", "Scalar a", negated);
  define(all, "_operator.pos", "Scalar a",
         [](const Stack& stack) { return stack[0]; });
  define(all, "torch.sym_int", "Scalar a", truncated);
  define(all, "math.trunc", "Scalar a", truncated);
  define(all, "torch.sym_float", "Scalar a",
         [](const Stack& stack) -> IValue { return real(stack[0]); });
  define(all, "torch.sym_not", "Scalar a",
         [](const Stack& stack) -> IValue { return real(stack[0]) == 0; });
  define(all, "torch._sym_sqrt", "Scalar a", [](const Stack& stack) -> IValue {
    return std::sqrt(real(stack[0]));
  });
  define(all, "torch.sym_ite", "Scalar b, Scalar t, Scalar f",
         [](const Stack& stack) {
           return real(stack[0]) != 0 ? stack[1] : stack[2];
         });
  define(all, "torch.ops.aten.sym_size.int", "Tensor self, int dim",
         [](const Stack& stack) -> IValue {
           return stack[0].toTensor().size(stack[1].toInt());
         });
  define(all, "torch.ops.aten.sym_stride.int", "Tensor self, int dim",
         [](const Stack& stack) -> IValue {
           return stack[0].toTensor().stride(stack[1].toInt());
         });
  define(
      all, "torch.ops.aten.sym_numel.default", "Tensor self",
      [](const Stack& stack) -> IValue { return stack[0].toTensor().numel(); });
}

// softmax(Q K^T scale + mask) V. Dropout is for training.
void scaled_dot_product_attention(Stack& stack) {
  const at::Tensor query = stack[0].toTensor(), key = stack[1].toTensor();
  const double scale = stack[6].isNone()
                           ? 1 / std::sqrt(static_cast<double>(query.size(-1)))
                           : stack[6].toDouble();
  if (stack[7].toBool())
    throw std::runtime_error("attention of grouped queries is not known here");
  at::Tensor scores = (query * scale).matmul(key.transpose(-2, -1));
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (stack[5].toBool()) {
    const at::Tensor seen = at::ones({query.size(-2), key.size(-2)},
                                     query.options().dtype(at::kBool))
                                .tril();
    scores = scores.masked_fill(seen.logical_not(), kNever);
  }
  if (stack[3].isTensor()) {
    const at::Tensor mask = stack[3].toTensor();
    scores = mask.scalar_type() == at::kBool
                 ? scores.masked_fill(mask.logical_not(), kNever)
                 : scores + mask;
  }
  stack = Stack{scores.softmax(-1).matmul(stack[2].toTensor())};
}

void native_multi_head_attention(Stack& stack) {
  constexpr size_t kTaken = 9;  // the others ask for what is not here
  if (!stack[kTaken].isNone() || stack[kTaken + 1].toBool())
    throw std::runtime_error(
        "attention with a mask, or whose weights are read, has no gradient");
  stack.resize(kTaken);
  stack = Stack{self_attention(stack), IValue()};
}

// Of single channels of single images: that is how instance norm is taken
// apart.
void batch_norm_without_averages(Stack& stack) {
  const auto vector = [&](size_t i) {
    return stack[i].isNone() ? at::Tensor() : stack[i].toTensor();
  };
  stack = Stack{at::batch_norm(stack[0].toTensor(), vector(1), vector(2), {},
                               {}, /*training=*/true, stack[4].toDouble(),
                               stack[5].toDouble(), /*cudnn_enabled=*/false),
                IValue(), IValue()};
}

// A view where the layout in memory allows one. That of attention's result,
// say, is another in every release and on every device.
void reshape(Stack& stack) {
  stack = Stack{
      stack[0].toTensor().reshape(c10::IntArrayRef(stack[1].toIntVector()))};
}

// From the last to the first, so that the others keep their places.
void squeeze_dims(Stack& stack) {
  at::Tensor squeezed = stack[0].toTensor();
  auto dims = stack[1].toIntVector();
  for (int64_t& dim : dims)
    if (dim < 0) dim += squeezed.dim();
  std::sort(dims.rbegin(), dims.rend());
  for (const int64_t dim : dims)
    squeezed = squeezed.squeeze(dim);
  stack = Stack{squeezed};
}

void define_operators(Substitutes& all) {
  const auto operate = [&](const std::string& target, const char* schema,
                           void (*call)(Stack&), bool only_if_missing) {
    all.emplace("torch.ops.aten." + target,
                ExportedSubstitute{torch::jit::parseSchema(schema), call,
                                   /*is_positional=*/false, only_if_missing});
  };
  operate("scaled_dot_product_attention.default",
          "sotta::scaled_dot_product_attention(Tensor query, Tensor key, "
          "Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
          "bool is_causal=False, *, float? scale=None, "
          "bool enable_gqa=False) -> Tensor",
          scaled_dot_product_attention, /*only_if_missing=*/true);
  operate("_native_multi_head_attention.default",
          "sotta::native_multi_head_attention(Tensor query, Tensor key, "
          "Tensor value, int embed_dim, int num_head, Tensor qkv_weight, "
          "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
          "Tensor? mask=None, bool need_weights=True, "
          "bool average_attn_weights=True, int? mask_type=None) "
          "-> (Tensor, Tensor?)",
          native_multi_head_attention, /*only_if_missing=*/false);
  operate("_native_batch_norm_legit.no_stats",
          "sotta::batch_norm_without_averages(Tensor input, Tensor? weight, "
          "Tensor? bias, bool training, float momentum, float eps) -> "
          "(Tensor, Tensor?, Tensor?)",
          batch_norm_without_averages, /*only_if_missing=*/false);
  operate("view.default",
          "sotta::view(Tensor(a) self, int[] size) -> Tensor(a)", reshape,
          /*only_if_missing=*/false);
  operate("squeeze.dims",
          "sotta::squeeze_dims(Tensor(a) self, int[] dim) -> Tensor(a)",
          squeeze_dims, /*only_if_missing=*/true);
}

}  // namespace

const ExportedSubstitute* find_substitute(const std::string& target) {
  static const Substitutes all = [] {
    Substitutes made;
    define_arithmetic(made);
    define_comparisons(made);
    define_conversions(made);
    define_operators(made);
    return made;
  }();
  const auto found = all.find(target);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace sotta
