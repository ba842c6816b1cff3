#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"
#include "sotta/stream/stream.h"

namespace sotta {

// `count` images of a dataset without replacement, or all if there are fewer.
at::Tensor draw_source_images(const Dataset& images, int64_t count, Rng rng);

// The first `count` samples of a stream, its target images replaced by clean
// ones: in a shuffled stream, a random draw from both.
at::Tensor mixed_source_images(const Dataset& clean,
                               std::shared_ptr<const StreamPlan> plan,
                               const StreamSources& sources, int64_t count);

}  // namespace sotta
