#pragma once

#include "engine/cpu/winograd/winograd_layer.h"
#include "tests/engine/blocked.h"

namespace sotta::engine {

// Images through a layer of stride 1, or gradients on their way back.
inline Array run_layer(const WinogradLayer& layer, const Array& images,
                       int64_t outputs, bool backward, int64_t threads = 2) {
  CrewOfWorkers workers(threads);
  const FloatBuffer input = to_blocked(images);
  Planes planes = images.sizes();
  ConvCall call;
  call.input = planes;
  call.source.values = input.data();
  planes.channels = outputs;
  const FloatBuffer output(planes.size());
  call.output = planes;
  call.sink.out = output.data();
  if (backward)
    layer.backward(call, workers.crew);
  else
    layer.forward(call, workers.crew);
  return from_blocked(output, planes);
}

// For expect_close() of gradients. Wide tiles' errors grow with the root of the
// channels to 6e-6 of the numbers at 192, as root mean squares; among some ten
// thousand the largest was 3e-5 of the largest number.
constexpr float kWideTolerance = 5e-5F;

}  // namespace sotta::engine
