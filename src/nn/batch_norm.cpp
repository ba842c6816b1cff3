#include "nn/batch_norm.h"

#include <ATen/ops/batch_norm.h>

#include "sotta/core/error.h"

#include "nn/blended_norm.h"
#include "nn/fused_norm.h"

namespace sotta {
namespace {

at::Tensor with_batch_statistics(const at::Tensor& input,
                                 const NormVectors& vectors, double epsilon) {
  // A running average with momentum 1 is the batch's statistics themselves.
  at::Tensor output = at::batch_norm(
      input, vectors.scale, vectors.shift, vectors.batch_mean,
      vectors.batch_var, /*training=*/true, /*momentum=*/1.0, epsilon,
      /*cudnn_enabled=*/true);
  const bool single_value = input.numel() == input.size(1);
  // Past autograd, which would take it for a change of what the layers of the
  // same network have saved; none reads it in its backward pass.
  if (single_value) vectors.batch_var.variable_data().zero_();
  return output;
}

// Statistics are over everything but the channel, so that only the count of
// positions matters: [N, C] has one, [N, C, L] a row of them.
at::Tensor as_images(const at::Tensor& input) {
  const at::Tensor flat = input.dim() > 3 ? input.flatten(2) : input;
  return flat.dim() == 2 ? flat.unsqueeze(-1).unsqueeze(-1)
                         : flat.unsqueeze(-1);
}

at::Tensor norm_of_images(const at::Tensor& input, const NormVectors& vectors,
                          NormStats stats, double epsilon) {
  // Of our own networks the fused engine is faster still; other people's give
  // the bits that they give in PyTorch.
  const bool as_pytorch =
      input.is_cpu() && stats.source == NormStats::Source::kRunning;
  if (!as_pytorch && epsilon == kNormEpsilon && has_fused_norm(input))
    return fused_norm(input, vectors, stats, {{}, /*relu=*/false},
                      /*use_up=*/false)
        .path;
  switch (stats.source) {
    case NormStats::Source::kRunning:
      return at::batch_norm(input, vectors.scale, vectors.shift,
                            vectors.running_mean, vectors.running_var,
                            /*training=*/false, /*momentum=*/0.0, epsilon,
                            /*cudnn_enabled=*/true);
    case NormStats::Source::kBatch:
      return with_batch_statistics(input, vectors, epsilon);
    case NormStats::Source::kBlended:
      return blended_norm(input, vectors, stats.batch_share, epsilon);
  }
  fail(ErrorKind::kInvalid, "batch_norm", "unknown source of statistics");
}

}  // namespace

at::Tensor batch_norm(const at::Tensor& input, const NormVectors& vectors,
                      NormStats stats, double epsilon) {
  if (input.dim() == 4) return norm_of_images(input, vectors, stats, epsilon);
  if (input.dim() < 2)
    fail(ErrorKind::kInvalid, "batch_norm",
         "expected [N, C] and perhaps more dimensions, got " +
             std::to_string(input.dim()));
  return norm_of_images(as_images(input), vectors, stats, epsilon)
      .reshape(input.sizes());
}

}  // namespace sotta
