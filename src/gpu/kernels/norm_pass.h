#pragma once

#include <ATen/core/Tensor.h>

namespace sotta {

// The passes of a norm layer, relu(norm(input) + residual) forward and back, as
// tensors in and tensors out: what the kernels of the CPU (nn/norm_planes.h)
// and of GPUs (norm_rows.h) are both given.

// Added to every variance before its root is taken, as everywhere in PyTorch.
constexpr double kNormEpsilon = 1e-5;

// One norm layer's share of the vectors of a forward pass; all [C]. On a GPU a
// pass may take several lanes, equal parts of the batch with vectors of their
// own: then all are [lanes, C], each lane's numbers side by side.
struct NormVectors {
  at::Tensor scale;
  at::Tensor shift;
  at::Tensor running_mean;
  at::Tensor running_var;

  // Written by passes with batch or blended statistics, see batch_norm().
  at::Tensor batch_mean;
  at::Tensor batch_var;
};

// What a forward pass leaves for the backward pass, all [C] or [lanes, C].
struct NormTrace {
  at::Tensor mean;         // as used
  at::Tensor inverse_std;  // as used
  at::Tensor batch_mean;   // the running one if the batch has no share
};

// How many lanes a vector of the kinds above is for.
inline int64_t lanes_of(const at::Tensor& vector) {
  return vector.dim() == 2 ? vector.size(0) : 1;
}

struct NormForward {
  at::Tensor input;
  at::Tensor residual;  // undefined: none
  NormVectors vectors;

  // Mean and variance are (1 - share) * running + share * batch. Without
  // `uses_batch` they are the running ones, and nothing is handed out; the
  // variance of a blended pass is handed out as it is used, that of the batch
  // alone as an unbiased estimate.
  bool uses_batch = false;
  bool blended = false;
  double batch_share = 0;

  bool relu = true;

  // Of every channel's distances from the running mean, and of their squares,
  // each over a part of the input: [lanes, parts, 2, C]. Undefined: the pass
  // takes these sums itself. On GPUs, for passes that use the batch.
  at::Tensor sums;

  at::Tensor output;  // written; may be the input
  at::Tensor kept;    // written: where the ReLU lets through; may be undefined.
                      // A byte per value on the CPU, empty_kept() on a GPU
  NormTrace trace;    // written
};

// The backward pass. With y = scale * (x - m) * r + shift, r = (v + eps)^-1/2,
// and the batch's mean and variance entering m and v with weight a (0: running
// statistics, 1: the batch's own), the gradients of a channel of n values are
//
//   dL/dshift = sum dL/dy
//   dL/dscale = r * sum dL/dy * (x - m)
//   dL/dm     = -scale * r * sum dL/dy
//   dL/dv     = -1/2 * scale * r^3 * sum dL/dy * (x - m)
//   dL/dx     = scale * r * dL/dy
//               + a/n * dL/dm + 2a/n * (x - batch mean) * dL/dv,
//
// the last linear in dL/dy and x: two sums over the channel, then one more pass
// over its values.
struct NormBackward {
  at::Tensor input;
  at::Tensor gradient;         // of the output
  at::Tensor second_gradient;  // of its other reader, added; undefined: none
  at::Tensor kept;             // undefined: there was no ReLU
  at::Tensor scale;
  NormTrace trace;
  double batch_share = 0;  // of the batch in the statistics

  at::Tensor input_gradient;     // written, unless undefined; may be the input
  at::Tensor residual_gradient;  // written, unless undefined
  at::Tensor scale_gradient;     // written, one lane's behind another's
  at::Tensor shift_gradient;     // likewise
};

}  // namespace sotta
