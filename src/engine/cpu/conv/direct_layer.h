#pragma once

#include "engine/cpu/conv/conv_call.h"
#include "engine/cpu/conv/direct_geometry.h"

namespace sotta::engine {

// A convolution that Winograd's way does not fit: of 1x1 pixels, and
// ImageNet's stem.
class DirectLayer {
 public:
  // `weights` [outputs][inputs][kernel][kernel] are read at construction only.
  DirectLayer(const ConvShape& shape, const float* weights);

  // Offsets for one size of images.
  struct Geometry {
    int64_t images = 1;  // that a worker takes at once
    DirectGeometry forward, backward;
  };
  Geometry geometry(const Planes& input) const;

  void forward(const ConvCall& call, const Geometry& geometry,
               const Crew& crew) const {
    run(call, {geometry.images, geometry.forward, forward_}, crew);
  }
  // The gradient with respect to the input from that of the output.
  void backward(const ConvCall& call, const Geometry& geometry,
                const Crew& crew) const {
    run(call, {geometry.images, geometry.backward, backward_}, crew);
  }

 private:
  struct Direction {
    int64_t images;
    const DirectGeometry& places;
    const FloatBuffer& weights;
  };
  static void run(const ConvCall& call, const Direction& direction,
                  const Crew& crew);

  ConvShape shape_;
  FloatBuffer forward_, backward_;  // weights by tap
};

}  // namespace sotta::engine
