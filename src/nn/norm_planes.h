#pragma once

#include <ATen/core/Tensor.h>

#include "nn/batch_norm.h"

namespace sotta {

// relu(norm(input) + residual) and its gradients, channel by channel with one
// pass over memory each, where tensor operations take one for the norm, one for
// the sum, one for the ReLU. What run() takes are contiguous floats on the CPU,
// [N, C, H, W] or [C]; results have the same bits at any thread count.

// What a pass forward leaves for the pass back, all [C].
struct NormTrace {
  at::Tensor mean;         // as used
  at::Tensor inverse_std;  // as used
  at::Tensor batch_mean;   // the running one if the batch has no share
};

struct NormForward {
  at::Tensor input;
  at::Tensor residual;  // undefined: none
  NormVectors vectors;
  NormStats stats;
  bool relu = true;

  at::Tensor output;  // written; may be the input
  at::Tensor kept;    // written: bytes, 1 where the ReLU lets through; may be
                      // undefined
  NormTrace trace;    // written
};
void run(const NormForward& pass);

struct NormBackward {
  at::Tensor input;
  at::Tensor gradient;  // of the output
  at::Tensor more;      // of the output as well, to be added; undefined: none
  at::Tensor kept;      // undefined: there was no ReLU
  at::Tensor scale;
  NormTrace trace;
  double batch_share = 0;  // of the batch in the statistics

  at::Tensor input_gradient;     // written, unless undefined; may be the input
  at::Tensor residual_gradient;  // written, unless undefined
  at::Tensor scale_gradient;     // written
  at::Tensor shift_gradient;     // written
};
void run(const NormBackward& pass);

}  // namespace sotta
