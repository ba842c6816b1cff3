#include "nn/pixels.h"

namespace sotta {

at::Tensor as_floats(const at::Tensor& images) {
  return images.scalar_type() == at::kByte ? images.to(at::kFloat).div_(255)
                                           : images;
}

}  // namespace sotta
