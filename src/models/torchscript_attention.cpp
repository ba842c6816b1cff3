#include "models/torchscript_attention.h"

#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

namespace sotta {
namespace {

using torch::jit::Node;

// Of aten::_native_multi_head_attention and of ours, in this order.
enum Argument : size_t {
  kQuery,
  kKey,
  kValue,
  kWidth,
  kHeads,
  kWeight,  // [3 * width, width]: of queries, keys and values
  kBias,
  kOutputWeight,
  kOutputBias,
  kArguments,
  kMask = kArguments  // of the fused one alone
};

const c10::Symbol& attention_symbol() {
  static const c10::Symbol symbol =
      c10::Symbol::fromQualString("sotta::self_attention");
  static const torch::jit::RegisterOperators registered({torch::jit::Operator(
      "sotta::self_attention(Tensor query, Tensor key, Tensor value, "
      "int width, int heads, Tensor weight, Tensor bias, "
      "Tensor output_weight, Tensor output_bias) -> Tensor",
      [](torch::jit::Stack& stack) {
        const at::Tensor result = self_attention(stack);
        torch::jit::drop(stack, kArguments);
        torch::jit::push(stack, result);
      },
      c10::AliasAnalysisKind::CONSERVATIVE)});
  return symbol;
}

bool is_fused_attention(const Node* node) {
  static const c10::Symbol fused =
      c10::Symbol::fromQualString("aten::_native_multi_head_attention");
  return node->kind() == fused && node->input(kMask)->mustBeNone() &&
         node->output(1)->uses().empty();
}

void collect_fused(torch::jit::Block* block, std::vector<Node*>& found) {
  for (Node* node : block->nodes()) {
    if (is_fused_attention(node)) found.push_back(node);
    for (torch::jit::Block* inner : node->blocks())
      collect_fused(inner, found);
  }
}

}  // namespace

at::Tensor self_attention(const torch::jit::Stack& stack) {
  const auto tensor = [&](Argument which) {
    return torch::jit::peek(stack, which, kArguments).toTensor();
  };
  const int64_t heads = torch::jit::peek(stack, kHeads, kArguments).toInt();
  const auto weights = tensor(kWeight).chunk(3);
  const auto biases = tensor(kBias).chunk(3);
  const auto project = [&](Argument which) {
    const at::Tensor rows =
        at::linear(tensor(which), weights[which], biases[which]);
    return rows.unflatten(-1, {heads, -1}).transpose(1, 2);
  };
  const at::Tensor query = project(kQuery);
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const at::Tensor shares =
      (query * scale).matmul(project(kKey).transpose(-2, -1)).softmax(-1);
  const at::Tensor mixed =
      shares.matmul(project(kValue)).transpose(1, 2).flatten(2);
  return at::linear(mixed, tensor(kOutputWeight), tensor(kOutputBias));
}

void unfuse_attention(const std::shared_ptr<torch::jit::Graph>& graph) {
  std::vector<Node*> found;
  collect_fused(graph->block(), found);
  for (Node* fused : found) {
    Node* ours = graph->create(attention_symbol());
    for (size_t i = 0; i < kArguments; ++i)
      ours->addInput(fused->input(i));
    ours->insertBefore(fused);
    fused->output(0)->replaceAllUsesWith(ours->output());
    fused->destroy();
  }
}

}  // namespace sotta
