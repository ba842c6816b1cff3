#include "nn/picked_rows.h"

#include <string>

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

#include "gpu/kernels/picking_kernel.h"
#include "gpu/upload.h"

namespace sotta {
namespace {

// Kernels trust their places.
void check(const at::Tensor& front, const at::Tensor& back,
           const std::vector<int64_t>& places) {
  require(front.dim() > 0 && back.dim() > 0 &&
              front.sizes().slice(1) == back.sizes().slice(1) &&
              front.scalar_type() == back.scalar_type() &&
              front.device() == back.device(),
          "picked_rows", "expected rows of one shape, type and device");
  const int64_t count = front.size(0) + back.size(0);
  for (const int64_t place : places)
    require(0 <= place && place < count, "picked_rows",
            "expected places below " + std::to_string(count) + ", got " +
                std::to_string(place));
}

}  // namespace

at::Tensor picked_rows(const at::Tensor& front, const at::Tensor& back,
                       const std::vector<int64_t>& places) {
  check(front, back, places);
  const at::Tensor at_once = pick_in_one_kernel(front, back, places);
  if (at_once.defined()) return at_once;
  return at::cat({front, back})
      .index_select(0, upload(at::tensor(places, at::kLong), front.device()));
}

}  // namespace sotta
