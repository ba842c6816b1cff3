#pragma once

#include "engine/cpu/planes.h"

namespace sotta::engine {

struct ConvShape {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t kernel = 3;
  int64_t stride = 1;

  int64_t padding() const { return (kernel - 1) / 2; }
  int64_t along(int64_t extent) const {  // outputs along `extent` inputs
    return (extent + 2 * padding() - kernel) / stride + 1;
  }
  Planes output(const Planes& input) const {
    return {input.images, outputs, along(input.height), along(input.width)};
  }
};

}  // namespace sotta::engine
