#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// What is left of RGB images after they were stored as JPEG files: to the byte
// what libjpeg-turbo makes of them with Pillow's settings (chroma at half the
// resolution, integer cosine transform, smooth upsampling).
class JpegRoundTrip {
 public:
  explicit JpegRoundTrip(int64_t quality);  // 1 .. 100

  // uint8 [N, 3, H, W] to the same, any H and W.
  at::Tensor operator()(const at::Tensor& images) const;

 private:
  at::Tensor code_plane(const at::Tensor& plane,
                        const at::Tensor& quantisation) const;

  // float64 [8, 8], transposed: down the columns first.
  at::Tensor luminance_;
  at::Tensor chrominance_;
};

}  // namespace sotta
