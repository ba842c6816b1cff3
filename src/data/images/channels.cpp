#include "data/images/channels.h"

#include <ATen/TensorOperators.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// Brightness as Pillow's convert("L") takes it.
at::Tensor to_grey(const at::Tensor& rgb) {
  const at::Tensor wide = rgb.to(at::kLong);
  return (wide.select(-3, 0) * 19595 + wide.select(-3, 1) * 38470 +
          wide.select(-3, 2) * 7471 + 32768)
      .floor_divide(65536)
      .to(at::kByte)
      .unsqueeze(-3);
}

}  // namespace

at::Tensor with_channels(const at::Tensor& images, int64_t channels) {
  const int64_t found = images.size(-3);
  if (found == channels) return images;
  if (found == 3 && channels == 1) return to_grey(images);
  if (found == 1 && channels == 3) {
    auto shape = images.sizes().vec();
    shape[shape.size() - 3] = channels;
    return images.expand(shape).contiguous();
  }
  fail(ErrorKind::kInvalid, "images",
       "expected " + std::to_string(channels) + " channels, got " +
           std::to_string(found));
}

}  // namespace sotta
