#include "nn/conv_norm.h"

#include "gpu/kernels/conv3x3.h"
#include "nn/fused_norm.h"

namespace sotta {

std::optional<Fork> fused_conv_norm(const at::Tensor& input,
                                    const PackedLayer& layer,
                                    const NormVectors& vectors, NormStats stats,
                                    const AfterNorm& after) {
  if (stats.source != NormStats::Source::kRunning ||
      !is_own_convolution(input, layer.stride, layer.padding, layer.kernels) ||
      needs_graph(input, vectors, after))
    return std::nullopt;
  NormBehind norm{vectors, after.residual, after.relu};
  if (norm.residual.defined())
    norm.residual = norm.residual.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor& packed = layer.kernels.there;
  if (!fits_conv3x3_norm(input, packed, norm)) return std::nullopt;
  const at::Tensor output = conv3x3_norm(input, packed, norm);
  return Fork{output, output};
}

}  // namespace sotta
