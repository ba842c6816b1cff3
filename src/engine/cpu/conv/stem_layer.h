#pragma once

#include "engine/cpu/buffer.h"
#include "engine/cpu/conv/conv_call.h"
#include "engine/cpu/conv/conv_shape.h"

namespace sotta::engine {

// The first convolution of the network, of stride 1. Images have too few
// channels for Winograd's way.
class StemLayer {
 public:
  // `weights` [outputs][inputs][kernel][kernel] are read at construction only.
  StemLayer(const ConvShape& shape, const float* weights);

  // Reads images as LibTorch keeps them, [N][inputs][H][W], instead of
  // call.source.
  void forward(const float* images, const ConvCall& call,
               const Crew& crew) const;

  // Writes the images' gradient as LibTorch keeps it, instead of call.sink.
  void backward(const ConvCall& call, float* images, const Crew& crew) const;

 private:
  ConvShape shape_;
  FloatBuffer forward_, backward_;  // weights, as stem_conv() reads them
};

}  // namespace sotta::engine
