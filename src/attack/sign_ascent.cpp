#include "attack/sign_ascent.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/nn/gradient.h"

#include "gpu/upload.h"
#include "nn/pixels.h"

namespace sotta {
namespace {

// The window with `perturbation` added to the malicious rows of `pixels`.
at::Tensor perturb(const at::Tensor& pixels, const Sides& sides,
                   const at::Tensor& perturbation) {
  const at::Tensor changed =
      pixels.index_select(0, sides.malicious).add(perturbation).clamp(0, 1);
  return pixels.index_copy(0, sides.malicious, changed);
}

// The mean cross-entropy of the targets. The window is one batch: with batch
// statistics the malicious samples reach the targets through them.
at::Tensor loss_of(const Executor& executor, const Victim& victim,
                   const at::Tensor& images, const Sides& sides) {
  const at::Tensor logits =
      executor.forward(images, victim.state, victim.stats).logits;
  return at::cross_entropy_loss(logits.index_select(0, sides.targets),
                                sides.labels, /*weight=*/{},
                                at::Reduction::Mean);
}

}  // namespace

Sides find_sides(const AttackWindow& window, at::Device device) {
  const at::Tensor malicious = window.malicious.cpu();
  const at::Tensor labels = window.labels.cpu();
  const auto rows_where = [](const at::Tensor& mask) {
    return mask.nonzero().flatten();
  };
  const at::Tensor targets =
      rows_where(labels.ge(0).logical_and(malicious.logical_not()));
  return {upload(rows_where(malicious), device), upload(targets, device),
          upload(labels.index_select(0, targets), device)};
}

Victim find_victim(const Adapter& adapter, TrialUpdates& trials,
                   const at::Tensor& images, const AttackOptions& options) {
  const Method& method = adapter.method();
  if (options.mode == "surrogate")
    return {
        options.weights == "source" ? adapter.model().source() : method.state(),
        NormStats::batch()};

  const NormStats stats = method.prediction_stats();
  if (options.mode == "paper") return {trials.run(images).trained, stats};

  ModelState state = trials.run(images).predicting;
  if (stats.source != NormStats::Source::kRunning) return {state, stats};
  // The update has mixed the window into the running statistics. Mixing it in
  // during the pass instead lets the gradient through.
  const ModelState before = method.state();
  state.running_mean = before.running_mean;
  state.running_var = before.running_var;
  return {state, NormStats::blended(method.statistics_share())};
}

AttackResult ascend(const Adapter& adapter, TrialUpdates& trials,
                    const AttackWindow& window, const AttackOptions& options) {
  const Executor& executor = adapter.executor();
  const Sides sides = find_sides(window, window.images.device());
  const at::Tensor pixels = as_floats(window.images);
  at::Tensor perturbation =
      at::zeros_like(pixels.index_select(0, sides.malicious));
  at::Tensor images = pixels;
  std::vector<at::Tensor> losses;

  for (int64_t step = 0; step < options.steps; ++step) {
    const Victim victim = find_victim(adapter, trials, images, options);
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = as_leaf(perturbation);
    const at::Tensor loss =
        loss_of(executor, victim, perturb(pixels, sides, leaf), sides);
    const at::Tensor uphill = executor.gradient(loss, leaf).sign_();
    losses.push_back(loss.detach());
    perturbation.add_(uphill, options.step_size)
        .clamp_(-options.eps, options.eps);
    images = perturb(pixels, sides, perturbation);
  }

  AttackResult result;
  result.images = images;
  result.perturbation =
      at::zeros_like(pixels).index_copy_(0, sides.malicious, perturbation);
  result.losses = at::stack(losses);
  result.trial_updates = trials.count();
  return result;
}

}  // namespace sotta
