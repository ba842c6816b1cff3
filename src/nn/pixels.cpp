#include "nn/pixels.h"

namespace sotta {

at::Tensor as_floats(const at::Tensor& images) {
  return images.scalar_type() == at::kByte ? images.to(at::kFloat).div_(255)
                                           : images;
}

int64_t pixel_row_width(at::ScalarType type) {
  return 16 / static_cast<int64_t>(c10::elementSize(type));
}

}  // namespace sotta
