#include "adapt/fisher.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

namespace sotta {

at::Tensor fisher_information(const Classifier& model, const at::Tensor& images,
                              int64_t batch_size) {
  const at::AutoGradMode with_gradients(true);
  ModelState state = model.source();
  state.affine = as_leaf(model.source().affine);
  at::Tensor sum = at::zeros_like(model.source().affine);
  const auto batches = images.split(batch_size);
  for (const auto& batch : batches) {
    const at::Tensor pixels = batch.to(state.affine.device());
    const auto result = model.forward(pixels, state, NormStats::batch());
    const at::Tensor loss = pseudo_label_loss(result.logits).mean();
    sum.add_(gradient_of(loss, state.affine).square());
  }
  return sum.div_(static_cast<double>(batches.size()));
}

}  // namespace sotta
