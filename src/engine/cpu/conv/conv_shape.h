#pragma once

#include "engine/cpu/activation_shape.h"

namespace sotta::engine {

// A square convolution kernel with the padding that keeps the size at stride 1.
struct ConvShape {
  int64_t inputs = 0;   // channels
  int64_t outputs = 0;  // channels
  int64_t kernel = 3;
  int64_t stride = 1;

  int64_t padding() const { return (kernel - 1) / 2; }

  // Output pixels along `extent` input pixels.
  int64_t output_extent(int64_t extent) const {
    return (extent + 2 * padding() - kernel) / stride + 1;
  }
  ActivationShape output(const ActivationShape& input) const {
    return {input.images, outputs, output_extent(input.height),
            output_extent(input.width)};
  }
};

}  // namespace sotta::engine
