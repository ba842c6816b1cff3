#pragma once

#include <vector>

#include "nn/planes.h"

namespace sotta {

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
