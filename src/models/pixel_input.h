#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "sotta/models/normalisation.h"

namespace sotta {

// The first step of every network: images as they come, checked and normalised.
class PixelInput {
 public:
  // `like` says where the constants lie: on the network's device.
  PixelInput(const Normalisation& normalisation, const at::Tensor& like);

  int64_t channels() const { return mean_.size(1); }

  // Takes uint8, or float in [0, 1], [N, C, H, W] on `device`; gives the same
  // bits for bytes and for those bytes divided by 255. Throws Error(kInvalid)
  // for images of another type, device or channel count.
  at::Tensor normalise(const at::Tensor& images, at::Device device) const;

  // The same as rows of `type`, for a first convolution whose kernels are as
  // wide: see pixel_rows().
  at::Tensor normalise_to_rows(const at::Tensor& images, at::Device device,
                               at::ScalarType type) const;

 private:
  void check(const at::Tensor& images, at::Device device) const;

  at::Tensor mean_, std_;  // [1, C, 1, 1]
};

}  // namespace sotta
