#pragma once

#include <cstdint>
#include <vector>

#include "sotta/core/rng.h"

#include "corrupt/kinds/kind.h"

namespace sotta {

// Draws for images with these indices, image i from rng.child(i), on LibTorch's
// number of threads.
Draws draw_for_images(const CorruptionKind& kind, const Rng& rng,
                      const std::vector<int64_t>& indices, at::Device device);

}  // namespace sotta
