#include "eval/source_images.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace sotta {

at::Tensor draw_source_images(const Dataset& images, int64_t count, Rng rng) {
  std::vector<int64_t> indices(static_cast<size_t>(images.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const size_t wanted = std::min(static_cast<size_t>(count), indices.size());
  for (size_t i = 0; i < wanted; ++i)
    std::swap(indices[i],
              indices[i + static_cast<size_t>(rng.below(
                              static_cast<int64_t>(indices.size() - i)))]);
  indices.resize(wanted);
  return images.get(indices).images;
}

at::Tensor mixed_source_images(const Dataset& clean,
                               std::shared_ptr<const StreamPlan> plan,
                               const StreamSources& sources, int64_t count) {
  const Stream stream(plan, sources);
  const int64_t end = std::min(count, plan->size());
  at::Tensor images = stream.read(0, end).clone();
  for (int64_t i = 0; i < end; ++i)
    if ((*plan)[i].origin != Origin::kForeign)
      images[i].copy_(clean.get({(*plan)[i].index}).images[0]);
  return images;
}

}  // namespace sotta
