#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "sotta/core/rng.h"

namespace sotta {

// Tensors of random numbers: element i, in row-major order, is the number that
// the i-th of as many single draws would give, and the stream ends up where
// those would leave it; the same bits at any thread count. Where the device has
// kernels for it (gpu/kernels/random/random_numbers.h) they are drawn there,
// elsewhere on the CPU, and brought to the device without waiting for it.

// Rng::uniform() rounded to float32, so from 0 to 1, both possible. Do not
// compare it with a probability: what the rounding moves across would be
// decided differently than by a single draw; random_below() decides.
at::Tensor random_uniform(Rng& rng, at::IntArrayRef shape,
                          at::Device device = at::kCPU);

// Rng::normal() rounded to float32.
at::Tensor random_normal(Rng& rng, at::IntArrayRef shape,
                         at::Device device = at::kCPU);

// True with this probability: whether Rng::uniform(), a double, is below it.
at::Tensor random_below(Rng& rng, at::IntArrayRef shape, double probability,
                        at::Device device = at::kCPU);

}  // namespace sotta
