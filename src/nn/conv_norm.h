#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include "nn/convolution.h"
#include "nn/norm_relu.h"

namespace sotta {

// A convolution with kernels that may be packed.
struct PackedLayer {
  const PackedKernels& kernels;
  int64_t stride = 1;
  int64_t padding = 1;
};

// forked_norm_relu(convolution(input)) where our own convolution for GPUs does
// work of the norm layer: all of it with running averages, if nothing goes
// back; the sums for the batch's statistics, if these are used. Several lanes
// too, as NormVectors says. Elsewhere std::nullopt, with nothing done.
//
// The convolution's sums are normalised, or measured, before they are rounded
// to the input's type: in bfloat16 results differ by a rounding from those of a
// norm layer of its own.
std::optional<Fork> fused_conv_norm(const at::Tensor& input,
                                    const PackedLayer& layer,
                                    const NormVectors& vectors, NormStats stats,
                                    const AfterNorm& after);

}  // namespace sotta
