#pragma once

#include <mutex>
#include <vector>

#include "engine/cpu/conv/conv_call.h"
#include "engine/cpu/conv/conv_shape.h"
#include "engine/cpu/crew.h"
#include "engine/cpu/winograd/winograd.h"

namespace sotta::engine {

// A 3x3 convolution of stride 1, or of stride 2 and perhaps with a shortcut's
// 1x1 convolution beside it, and the way back.
class WinogradLayer {
 public:
  // `weights` [outputs][inputs][3][3], and a shortcut's [outputs][inputs], must
  // outlive the layer. Transformed weights take four times the weights' memory
  // in either direction, those of wide tiles seven times, from the first use
  // on; with `keep_transformed` off, and for the widest layers, they are made
  // anew for each call.
  struct Weights {
    const float* main = nullptr;
    const float* shortcut = nullptr;  // with a stride of 2: may be there
  };
  WinogradLayer(const ConvShape& shape, const Weights& weights,
                bool keep_transformed);

  void forward(const ConvCall& call, const Crew& crew) const {
    run(call, crew, forward_);
  }
  // The gradient with respect to the input from that of the output.
  void backward(const ConvCall& call, const Crew& crew) const;

  // A position's product: a sum of one or two terms, each of some position's
  // transformed inputs and weights.
  struct Product {
    struct Term {
      int64_t left = 0;
      int64_t weights = 0;
    };
    Term terms[2];
    int64_t count = 1;
  };

  // All that is to be known of one direction.
  struct Direction {
    int64_t inputs = 0;
    int64_t outputs = 0;
    WinogradWeights main, shortcut;
    int64_t lefts = 0;  // positions of the inputs, a shortcut's included
    std::vector<Product> products;
    mutable std::once_flag once;
    mutable FloatBuffer packed;
  };

 private:
  void run(const ConvCall& call, const Crew& crew,
           const Direction& direction) const;

  bool keep_;
  Direction forward_, backward_;
  Direction wide_backward_;  // has products if there are wide tiles
};

}  // namespace sotta::engine
