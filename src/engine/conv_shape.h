#pragma once

#include <cstdint>

namespace sotta::engine {

struct ConvShape {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
};

}  // namespace sotta::engine
