#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "gpu/kernels/norm_pass.h"

namespace sotta {

// Our own 3x3 convolution with stride 1 or 2 and a border of one zero, for GPUs
// of compute capability 9.0 and kernels that are not trained. It takes 1x1
// kernels too, with stride 2 and no border. Factors are rounded to TF32, or are
// bfloat16; sums are float32, in one order on every such GPU.

// Kernels [to, from, 3, 3] or [to, from, 1, 1] in the order in which conv3x3()
// reads them. Undefined if it does not take them with this stride, or this
// build or device has none. Between packing and the first conv3x3() with them
// an ordinary launch must lie in the stream, such as a network's first
// convolution: conv3x3() reads them early.
at::Tensor pack_kernels(const at::Tensor& kernels, int64_t stride = 1);

// Whether conv3x3() takes this input, of the packed kernels' type.
bool fits_conv3x3(const at::Tensor& input, const at::Tensor& packed,
                  int64_t stride = 1);

// Input [N, from, H, W], a pixel's channels side by side, as is what comes out.
at::Tensor conv3x3(const at::Tensor& input, const at::Tensor& packed,
                   int64_t stride = 1);

// What lies behind a convolution whose norm layer uses running averages, see
// NormForward; of several lanes too.
struct NormBehind {
  NormVectors vectors;
  at::Tensor residual;  // undefined: none
  bool relu = true;
};

// Whether conv3x3_norm() takes these: as conv3x3(), and lanes of whole tiles of
// images, 16 where outputs are 4x4, four where they are 8x8.
bool fits_conv3x3_norm(const at::Tensor& input, const at::Tensor& packed,
                       const NormBehind& norm, int64_t stride = 1);

// relu(norm(conv3x3(input)) + residual) in the convolution's epilogue: sums are
// normalised before they are rounded to the output's type.
at::Tensor conv3x3_norm(const at::Tensor& input, const at::Tensor& packed,
                        const NormBehind& norm, int64_t stride = 1);

// For a norm layer that measures its batch: of every channel's distances from
// the running mean, and of their squares, each over a part of the pixels; sums
// are measured before they are rounded to the output's type.
struct OutputSums {
  at::Tensor running_mean;  // [C], or [lanes, C]
  at::Tensor parts;         // [lanes, parts, 2, C]
};

// Room for them. Undefined parts if conv3x3_sums() does not take the input; it
// takes the lanes that conv3x3_norm() takes.
OutputSums output_sums_for(const at::Tensor& input, const at::Tensor& packed,
                           const at::Tensor& running_mean, int64_t stride = 1);

// conv3x3(), which writes the parts too.
at::Tensor conv3x3_sums(const at::Tensor& input, const at::Tensor& packed,
                        const OutputSums& sums, int64_t stride = 1);

}  // namespace sotta
