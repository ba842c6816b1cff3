#pragma once

#include <memory>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sotta {

// softmax(Q K^T / sqrt(d)) V per head, Q, K and V being linear in their inputs
// [N, tokens, width]; then a linear layer. The last nine of the stack are the
// first nine arguments of aten::_native_multi_head_attention.
at::Tensor self_attention(const torch::jit::Stack& stack);

// A network that was traced under torch.no_grad() holds PyTorch's fused
// self-attention, aten::_native_multi_head_attention, which has no gradient.
// Puts matrix products and a softmax in its place that have one. Attention with
// a mask, or whose weights are read, stays as it is.
void unfuse_attention(const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace sotta
