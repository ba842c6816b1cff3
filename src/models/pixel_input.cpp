#include "models/pixel_input.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "sotta/core/error.h"

#include "gpu/kernels/pixel_rows.h"
#include "nn/pixels.h"

namespace sotta {

PixelInput::PixelInput(const Normalisation& normalisation,
                       const at::Tensor& like) {
  const auto as_pixel = [&](const std::vector<double>& values) {
    return at::tensor(values, like.options()).view({1, -1, 1, 1});
  };
  mean_ = as_pixel(normalisation.mean);
  std_ = as_pixel(normalisation.std);
}

void PixelInput::check(const at::Tensor& images, at::Device device) const {
  const bool known_type =
      images.scalar_type() == at::kByte || images.scalar_type() == at::kFloat;
  if (images.dim() != 4 || images.size(1) != channels() || !known_type)
    fail(ErrorKind::kInvalid, "forward",
         "expected uint8 or float images [N, " + std::to_string(channels()) +
             ", H, W], got " + c10::toString(images.scalar_type()) + " " +
             c10::str(images.sizes()));
  if (images.device() != device)
    fail(ErrorKind::kInvalid, "forward",
         "expected images on " + device.str() + ", got " +
             images.device().str());
}

at::Tensor PixelInput::normalise(const at::Tensor& images,
                                 at::Device device) const {
  check(images, device);
  return (as_floats(images) - mean_).div_(std_);
}

at::Tensor PixelInput::normalise_to_rows(const at::Tensor& images,
                                         at::Device device,
                                         at::ScalarType type) const {
  check(images, device);
  return pixel_rows(images, mean_, std_, type);
}

}  // namespace sotta
