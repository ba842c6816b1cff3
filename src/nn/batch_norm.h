#pragma once

#include <ATen/core/Tensor.h>

#include "sotta/nn/norm_stats.h"

#include "gpu/kernels/norm_pass.h"

namespace sotta {

// Normalises `input` [N, C, H, W] per channel, then scales and shifts it; also
// [N, C], [N, C, L] and what has more dimensions, as PyTorch's BatchNorm1d and
// 3d do. Variances divide by n, the count of values per channel (N*H*W), where
// they normalise and by n-1 where they are handed out, so that a running
// average estimates the population's variance.
//
//   kRunning  uses the running vectors. Writes nothing.
//   kBatch    uses the batch's own statistics and writes them to batch_mean and
//             batch_var (unbiased; for n = 1 the variance written is 0).
//   kBlended  uses (1-a) * running + a * batch with the biased batch variance,
//             and writes these mixtures.
//
// `epsilon` is added to every variance before its root is taken.
// Differentiable in input, scale and shift, through the batch's statistics too.
at::Tensor batch_norm(const at::Tensor& input, const NormVectors& vectors,
                      NormStats stats, double epsilon = kNormEpsilon);

}  // namespace sotta
