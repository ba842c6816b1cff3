#pragma once

#include <mutex>

#include "engine/conv_call.h"
#include "engine/crew.h"
#include "engine/direct_geometry.h"
#include "engine/winograd.h"

namespace sotta::engine {

// A 3x3 convolution of stride 1 and its way back.
class WinogradLayer {
 public:
  // `weights` [outputs][inputs][3][3] must outlive the layer. Transformed
  // weights take four times the weights' memory in either direction, from the
  // first use on; with `keep_transformed` off, and for the widest layers, they
  // are made anew for each call.
  WinogradLayer(const ConvShape& shape, const float* weights,
                bool keep_transformed);

  void forward(const ConvCall& call, const Crew& crew) const {
    run(call, crew, forward_);
  }
  // The gradient with respect to the input from that of the output.
  void backward(const ConvCall& call, const Crew& crew) const {
    run(call, crew, backward_);
  }

 private:
  struct Direction {
    WinogradWeights weights;
    int64_t inputs = 0;
    int64_t outputs = 0;
    mutable std::once_flag once;
    mutable FloatBuffer packed;
  };

  void run(const ConvCall& call, const Crew& crew,
           const Direction& direction) const;
  const float* packed(const Crew& crew, const Direction& direction) const;

  bool keep_;
  Direction forward_, backward_;
};

}  // namespace sotta::engine
