#pragma once

#include <ATen/core/Tensor.h>

#include "sotta/core/rng.h"

namespace sotta {

// Whether this build draws random numbers on the device.
bool has_random_numbers(at::Device device);

// Element i is what a copy of `rng` would draw after i such draws. Uniform
// numbers and decisions have the bits of the CPU's; a normal number, which goes
// through a logarithm and a cosine, may differ in float32's last bit.
at::Tensor draw_uniform(const Rng& rng, at::IntArrayRef shape,
                        at::Device device);
at::Tensor draw_normal(const Rng& rng, at::IntArrayRef shape,
                       at::Device device);
at::Tensor draw_below(const Rng& rng, at::IntArrayRef shape, double probability,
                      at::Device device);

}  // namespace sotta
