#include "adapt/methods/fisher.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

namespace sotta {

at::Tensor fisher_information(const Executor& executor,
                              const at::Tensor& images, int64_t batch_size) {
  const ModelState& source = executor.model().source();
  const at::AutoGradMode with_gradients(true);
  ModelState state = source;
  state.affine = as_leaf(source.affine);
  at::Tensor sum = at::zeros_like(source.affine);
  const auto batches = images.split(batch_size);
  for (const auto& batch : batches) {
    const at::Tensor pixels = batch.to(executor.device());
    const auto result = executor.forward(pixels, state, NormStats::batch());
    const at::Tensor loss = pseudo_label_loss(result.logits).mean();
    sum.add_(executor.gradient(loss, state.affine).square());
  }
  return sum.div_(static_cast<double>(batches.size()));
}

}  // namespace sotta
