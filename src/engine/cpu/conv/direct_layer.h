#pragma once

#include "engine/cpu/conv/conv_call.h"
#include "engine/cpu/conv/direct_geometry.h"
#include "engine/cpu/kernel_context.h"

namespace sotta::engine {

// A convolution by implicit GEMM (direct_conv.h), where Winograd's does not
// apply: of 1x1 pixels, and ImageNet's stem of 7x7 with stride 2. A task is a
// few images: a worker pads them through the prologue, multiplies, and applies
// the epilogue.
//
// Const methods may run at once, each with a context of its own.
class DirectLayer {
 public:
  // `weights` [outputs][inputs][kernel][kernel] are read at construction only.
  DirectLayer(const ConvShape& shape, const float* weights);

  // Offsets for one size of images; `input` is the forward pass's.
  struct Geometry {
    int64_t images = 1;  // of one task, at most
    DirectGeometry forward, backward;
  };
  Geometry geometry(const ActivationShape& input) const;

  void forward(const ConvCall& call, const Geometry& geometry,
               const KernelContext& context) const {
    run(call, {geometry.images, geometry.forward, forward_}, context);
  }
  // The gradient with respect to the input from that of the output.
  void backward(const ConvCall& call, const Geometry& geometry,
                const KernelContext& context) const {
    run(call, {geometry.images, geometry.backward, backward_}, context);
  }

 private:
  struct Direction {
    int64_t images;
    const DirectGeometry& geometry;
    const FloatBuffer& weights;
  };
  static void run(const ConvCall& call, const Direction& direction,
                  const KernelContext& context);

  ConvShape shape_;
  FloatBuffer forward_, backward_;  // packed weights, see pack_taps()
};

}  // namespace sotta::engine
