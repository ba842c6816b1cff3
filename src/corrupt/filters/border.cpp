#include "corrupt/filters/border.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/tensor.h>

namespace sotta {
namespace {

// Into 0 .. period-1, also for negative positions.
int64_t modulo(int64_t position, int64_t period) {
  return (position % period + period) % period;
}

}  // namespace

int64_t border_index(int64_t position, int64_t size, Border border) {
  if (border == Border::kNearest || size == 1)
    return std::clamp<int64_t>(position, 0, size - 1);
  if (border == Border::kReflect101) {
    const int64_t folded = modulo(position, 2 * (size - 1));
    return folded < size ? folded : 2 * (size - 1) - folded;
  }
  const int64_t folded = modulo(position, 2 * size);
  return folded < size ? folded : 2 * size - 1 - folded;
}

at::Tensor extend(const at::Tensor& images, int64_t dimension, int64_t margin,
                  Border border) {
  if (margin == 0) return images;
  const int64_t size = images.size(dimension);
  std::vector<int64_t> sources;
  for (int64_t i = -margin; i < size + margin; ++i)
    sources.push_back(border_index(i, size, border));
  return images.index_select(dimension,
                             at::tensor(sources).to(images.device()));
}

}  // namespace sotta
