#pragma once

#include <cstdint>
#include <vector>

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

struct Moments {
  double mean = 0;
  double var = 0;  // biased
};

// Mean and variance of every channel. LibTorch adds one value at a time in
// double; this adds vectors in float within a plane and joins the planes in
// double: several times faster, as exact to float precision, and the same bits
// at any thread count.
std::vector<Moments> channel_moments(const float* values, const Planes& planes);

}  // namespace sotta
