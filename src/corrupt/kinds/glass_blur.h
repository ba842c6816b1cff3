#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// Where each pixel of the image comes from after one pass of glass blur, as
// flat positions [N, side * side]. The pass visits rows side - reach down to
// reach + 1 and the same columns from right to left, and copies pixel
// (row + dy, column + dx) onto the visited one; what it reads may have been
// overwritten before. `moves` [N, rows, columns, 2] holds dx, dy in the order
// of the visits, -reach .. reach - 1.
at::Tensor glass_sources(const at::Tensor& moves, int64_t side, int64_t reach);

}  // namespace sotta
