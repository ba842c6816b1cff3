#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// What a filter reads beyond the edge of a b c d.
enum class Border {
  kNearest,     // a a a | a b c d | d d d
  kReflect101,  // d c b | a b c d | c b a
  kSymmetric,   // c b a | a b c d | d c b
};

// The sample, in 0 .. size-1, that stands at `position`, however far outside.
int64_t border_index(int64_t position, int64_t size, Border border);

// Widens a dimension by `margin` samples on both sides.
at::Tensor extend(const at::Tensor& images, int64_t dimension, int64_t margin,
                  Border border);

}  // namespace sotta
