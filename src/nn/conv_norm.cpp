#include "nn/conv_norm.h"

#include "gpu/kernels/conv3x3.h"
#include "gpu/kernels/norm_rows.h"
#include "nn/fused_norm.h"

namespace sotta {
namespace {

std::optional<Fork> with_running_averages(const at::Tensor& input,
                                          const PackedKernels& kernels,
                                          const NormVectors& vectors,
                                          const AfterNorm& after) {
  NormBehind norm{vectors, after.residual, after.relu};
  if (norm.residual.defined())
    norm.residual = norm.residual.contiguous(at::MemoryFormat::ChannelsLast);
  if (!fits_conv3x3_norm(input, kernels.there, norm, kernels.stride))
    return std::nullopt;
  const at::Tensor output =
      conv3x3_norm(input, kernels.there, norm, kernels.stride);
  return Fork{output, output};
}

std::optional<Fork> with_batch_statistics(const at::Tensor& input,
                                          const PackedKernels& kernels,
                                          const NormVectors& vectors,
                                          NormStats stats,
                                          const AfterNorm& after) {
  if (!has_norm_rows(vectors.scale.size(-1), input.scalar_type()))
    return std::nullopt;
  const OutputSums sums = output_sums_for(input, kernels.there,
                                          vectors.running_mean, kernels.stride);
  if (!sums.parts.defined()) return std::nullopt;
  return fused_norm(own_convolution(input, kernels, sums), vectors, stats,
                    after, /*use_up=*/true, sums.parts);
}

}  // namespace

std::optional<Fork> fused_conv_norm(const at::Tensor& input,
                                    const PackedLayer& layer,
                                    const NormVectors& vectors, NormStats stats,
                                    const AfterNorm& after) {
  if (!is_own_convolution(input, layer.stride, layer.padding, layer.kernels))
    return std::nullopt;
  if (stats.source != NormStats::Source::kRunning)
    return with_batch_statistics(input, layer.kernels, vectors, stats, after);
  if (needs_graph(input, vectors, after)) return std::nullopt;
  return with_running_averages(input, layer.kernels, vectors, after);
}

}  // namespace sotta
