#include "nn/norm_relu.h"

#include <ATen/TensorOperators.h>

#include "nn/fused_norm.h"

namespace sotta {

at::Tensor norm_relu(const at::Tensor& input, const NormVectors& vectors,
                     NormStats stats, const AfterNorm& after) {
  return forked_norm_relu(input, vectors, stats, after).path;
}

bool has_norm_in_lanes(const at::Tensor& input) {
  return !input.is_cpu() && has_fused_norm(input);
}

Fork forked_norm_relu(const at::Tensor& input, const NormVectors& vectors,
                      NormStats stats, const AfterNorm& after) {
  if (has_fused_norm(input))
    return fused_norm(input, vectors, stats, after, /*use_up=*/true);
  at::Tensor output = batch_norm(input, vectors, stats);
  if (after.residual.defined()) output += after.residual;
  if (after.relu) output.relu_();
  return {output, output};
}

}  // namespace sotta
