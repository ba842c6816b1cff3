#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

namespace sotta {

// A network that was traced under torch.no_grad() holds PyTorch's fused
// self-attention, aten::_native_multi_head_attention, which has no gradient.
// Puts matrix products and a softmax in its place that have one. Attention with
// a mask, or whose weights are read, stays as it is.
void unfuse_attention(const std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace sotta
