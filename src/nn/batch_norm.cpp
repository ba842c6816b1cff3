#include "sotta/nn/batch_norm.h"

#include <ATen/ops/batch_norm.h>

#include "sotta/core/error.h"

#include "nn/blended_norm.h"
#include "nn/channel_statistics.h"

namespace sotta {
namespace {

at::Tensor with_batch_statistics(const at::Tensor& input,
                                 const NormVectors& vectors) {
  const int64_t count = input.numel() / input.size(1);
  if (has_fast_statistics(input)) {
    const ChannelStatistics batch = channel_statistics(input.detach());
    vectors.batch_mean.copy_(batch.mean);
    vectors.batch_var.copy_(batch.var.mul(
        count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1)
                  : 0.0));
    return norm_by_batch(input, vectors.scale, vectors.shift, batch);
  }
  // A running average with momentum 1 is the batch's statistics themselves.
  at::Tensor output = at::batch_norm(
      input, vectors.scale, vectors.shift, vectors.batch_mean,
      vectors.batch_var, /*training=*/true, /*momentum=*/1.0, kNormEpsilon,
      /*cudnn_enabled=*/true);
  if (count == 1) vectors.batch_var.detach().zero_();
  return output;
}

}  // namespace

at::Tensor batch_norm(const at::Tensor& input, const NormVectors& vectors,
                      NormStats stats) {
  switch (stats.source) {
    case NormStats::Source::kRunning:
      return at::batch_norm(input, vectors.scale, vectors.shift,
                            vectors.running_mean, vectors.running_var,
                            /*training=*/false, /*momentum=*/0.0, kNormEpsilon,
                            /*cudnn_enabled=*/true);
    case NormStats::Source::kBatch:
      return with_batch_statistics(input, vectors);
    case NormStats::Source::kBlended:
      return blended_norm(input, vectors, stats.batch_share);
  }
  fail(ErrorKind::kInvalid, "batch_norm", "unknown source of statistics");
}

}  // namespace sotta
