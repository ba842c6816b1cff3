#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Clouds by midpoint displacement on a torus (diamond-square): [N, side, side],
// each scaled to 0 .. 1. `side` is a power of two; every level's displacement
// is the last one's over decay^2. `uniforms` are side^2 - 1 numbers in [-1, 1)
// per map, level by level: centres of squares, then midpoints of the horizontal
// edges, then of the vertical ones, each row-major.
at::Tensor plasma_maps(const at::Tensor& uniforms, int64_t side, double decay);

}  // namespace sotta
