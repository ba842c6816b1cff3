#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sotta {

// A contiguous tensor [N, C, H, W] as N*C planes of H*W values; plane p belongs
// to channel p % C.
struct Planes {
  explicit Planes(const at::Tensor& tensor)
      : images(tensor.size(0)),
        channels(tensor.size(1)),
        size(tensor.size(2) * tensor.size(3)) {}

  int64_t count() const { return images * channels; }
  double values_per_channel() const {
    return static_cast<double>(images * size);
  }

  int64_t images;
  int64_t channels;
  int64_t size;
};

}  // namespace sotta
