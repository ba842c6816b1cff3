#pragma once

#include <cmath>

#include "engine/cpu/winograd/winograd_layer.h"
#include "tests/engine/blocked.h"

namespace sotta::engine {

// A layer of stride 1, forward with images or backward with gradients.
inline Array run_layer(const WinogradLayer& layer, const Array& images,
                       int64_t outputs, bool backward, int64_t threads = 2) {
  TestWorkers workers(threads);
  const FloatBuffer input = to_blocked(images);
  ActivationShape shape = images.sizes();
  ConvCall call;
  call.input = shape;
  call.prologue.values = input.data();
  shape.channels = outputs;
  const FloatBuffer output(shape.size());
  call.output = shape;
  call.epilogue.out = output.data();
  if (backward)
    layer.backward(call, workers.context);
  else
    layer.forward(call, workers.context);
  return from_blocked(output, shape);
}

// The weights of the convolution that computes the gradient.
inline Array flipped(const Array& weights) {
  const ActivationShape& sizes = weights.sizes();
  return make_array({sizes.channels, sizes.images, 3, 3}, [&](const Place& at) {
    return weights[{at.c, at.n, 2 - at.y, 2 - at.x}];
  });
}

// The root mean square of the differences, relative to that of the numbers.
inline double error_of(const Array& found, const Array& expected) {
  double differences = 0, numbers = 0;
  for_every_place(expected.sizes(), [&](const Place& at) {
    const double number = static_cast<double>(expected[at]);
    differences += std::pow(static_cast<double>(found[at]) - number, 2);
    numbers += number * number;
  });
  return std::sqrt(differences / numbers);
}

// For expect_close() of gradients. Wide tiles' errors grow with the root of the
// channels to 6e-6 of the numbers at 192, as root mean squares; among some ten
// thousand the largest was 3e-5 of the largest number.
constexpr float kWideTolerance = 5e-5F;

}  // namespace sotta::engine
