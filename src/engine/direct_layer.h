#pragma once

#include <optional>

#include "engine/conv_call.h"
#include "engine/direct_geometry.h"

namespace sotta::engine {

// Convolutions that Winograd's way does not fit: those with a stride, with the
// 1x1 convolution of the shortcut beside them if there is one, and the first of
// the network. They share what they read, and on the way back what they add to.
class DirectLayer {
 public:
  struct Conv {
    ConvShape shape;
    const float* weights = nullptr;  // read at construction only
  };

  // Offsets for one size of images.
  struct Geometry {
    int64_t images = 1;  // that a worker takes at once
    DirectGeometry forward, shortcut_forward;
    DirectGeometry backward, shortcut_backward;
  };

  DirectLayer(const Conv& main, const std::optional<Conv>& shortcut);

  Geometry geometry(const Planes& input) const;

  // call.source is read, or `images` as LibTorch keeps them where those are
  // given; call.sums get the main convolution's sums.
  struct Forward {
    ConvCall call;
    const float* images = nullptr;  // [N][channels][H][W]
    Sink shortcut;
    SumSlots* shortcut_sums = nullptr;
  };
  void forward(const Forward& pass, const Geometry& geometry,
               const Crew& crew) const;

  // call.source and `shortcut` are the gradients of the two outputs; call.input
  // are the planes of the convolutions' input, where the sink's gradient goes.
  struct Backward {
    ConvCall call;
    Source shortcut;
  };
  void backward(const Backward& pass, const Geometry& geometry,
                const Crew& crew) const;

 private:
  struct Packed {
    ConvShape shape;
    FloatBuffer forward, backward;
  };
  static Packed pack(const Conv& conv);

  Packed main_;
  std::optional<Packed> shortcut_;
};

}  // namespace sotta::engine
