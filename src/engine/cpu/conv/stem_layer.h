#pragma once

#include "engine/cpu/buffer.h"
#include "engine/cpu/conv/conv_call.h"
#include "engine/cpu/conv/conv_shape.h"
#include "engine/cpu/kernel_context.h"

namespace sotta::engine {

// The first convolution of a network, of stride 1, by implicit GEMM: images
// have too few channels for Winograd's transforms to pay. A task is one image.
//
// Const methods may run at once, each with a context of its own.
class StemLayer {
 public:
  // `weights` [outputs][inputs][kernel][kernel] are read at construction only.
  StemLayer(const ConvShape& shape, const float* weights);

  // Reads `images` [N][inputs][H][W] instead of call.prologue.
  void forward(const float* images, const ConvCall& call,
               const KernelContext& context) const;

  // Writes the gradient of the images, [N][inputs][H][W], instead of applying
  // call.epilogue.
  void backward(const ConvCall& call, float* images,
                const KernelContext& context) const;

 private:
  ConvShape shape_;
  FloatBuffer forward_, backward_;  // packed weights, see pack_taps()
};

}  // namespace sotta::engine
