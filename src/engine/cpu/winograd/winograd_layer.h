#pragma once

#include <mutex>
#include <vector>

#include "engine/cpu/conv/conv_call.h"
#include "engine/cpu/conv/conv_shape.h"
#include "engine/cpu/kernel_context.h"
#include "engine/cpu/winograd/winograd.h"

namespace sotta::engine {

// A 3x3 convolution of stride 1 or 2 by Winograd's minimal filtering
// (winograd.h), forward and backward. One of stride 2 may have the 1x1
// convolution of its block's shortcut fused with it: this reads the very pixels
// that the middle tap reads, so that their transformed tiles serve both.
//
// Const methods may run at once, each with a context of its own: packed weights
// are made once, under a lock.
class WinogradLayer {
 public:
  // `weights` [outputs][inputs][3][3], and a shortcut's [outputs][inputs], must
  // outlive the layer. Packed weights take four times the weights' memory in
  // either direction, those of F(4x8,3x3) seven times, from the first use on;
  // half of that as bfloat16. With `keep_packed` off, and for the widest
  // layers, they are packed anew in each call.
  struct Weights {
    const float* main = nullptr;
    const float* shortcut = nullptr;  // with stride 2 alone; may be absent
  };
  WinogradLayer(const ConvShape& shape, const Weights& weights,
                bool keep_packed, OperandType operands = OperandType::kFloat);

  void forward(const ConvCall& call, const KernelContext& context) const {
    convolve(call, context, forward_);
  }
  // The gradient with respect to the input from that of the output.
  void backward(const ConvCall& call, const KernelContext& context) const;

  // A GEMM of one position: a sum of one or two terms, each the product of a
  // left operand (a position of the transformed input) and a right operand (a
  // position of the packed weights).
  struct Product {
    struct Term {
      int64_t left_operand = 0;
      int64_t right_operand = 0;
    };
    Term terms[2];
    int64_t count = 1;
  };

  // The products of one direction. Without a shortcut there is one for each
  // position of the tile. A shortcut adds 16, for its 4x4 pixels: forward as
  // products of their own, whose left operands are those of the middle tap;
  // backward as second terms of the middle tap's products, with left operands
  // of their own (its output gradient, not transformed).
  struct Direction {
    int64_t inputs = 0;   // channels that are read, and
    int64_t outputs = 0;  // written
    WinogradWeights main, shortcut;
    int64_t left_operands = 0;  // a shortcut's included
    std::vector<Product> products;
    mutable std::once_flag once;   // guards the making of
    mutable ScratchBuffer packed;  // the kept weights
  };

 private:
  void convolve(const ConvCall& call, const KernelContext& context,
                const Direction& direction) const;

  bool keep_packed_;
  OperandType operands_;
  Direction forward_, backward_;
  Direction wide_backward_;  // F(4x8,3x3); no products: not for this layer
};

}  // namespace sotta::engine
