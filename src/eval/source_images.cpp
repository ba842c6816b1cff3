#include "eval/source_images.h"

#include <algorithm>

#include "core/draw.h"

namespace sotta {

at::Tensor draw_source_images(const Dataset& images, int64_t count, Rng rng) {
  const int64_t wanted = std::min(count, images.size());
  return images.get(draw_without_replacement(images.size(), wanted, rng))
      .images;
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
