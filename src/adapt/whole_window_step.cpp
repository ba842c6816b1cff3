#include "adapt/whole_window_step.h"

#include <utility>

#include <ATen/core/grad_mode.h>

#include "sotta/nn/gradient.h"

namespace sotta {

WholeWindowStep::WholeWindowStep(const MethodContext& context,
                                 std::unique_ptr<Optimiser> optimiser)
    : WindowStep(context, std::move(optimiser)),
      replay_(context.replay),
      look_(
          [this](const at::Tensor& images) -> std::vector<at::Tensor> {
            const Pass pass = run(images, as_leaf(state_.affine));
            const at::AutoGradMode with_gradients(true);
            const at::Tensor loss = loss_of(pass);
            const at::Tensor logits = pass.result.logits.detach();
            return {logits, pack_prediction(logits), loss.detach(),
                    gradient_of(loss, pass.affine)};
          },
          context.replay) {}

Observation WholeWindowStep::observe(const at::Tensor& images,
                                     bool completes_window) {
  if (!replay_ || !is_whole(completes_window))
    return WindowStep::observe(images, completes_window);
  const auto seen = look_(images);
  Pass pass;
  pass.images = images;
  pass.loss = seen[2];
  pass.gradient = seen[3];
  const Prediction prediction = read_prediction(seen[1]);
  pass.finite = all_finite(prediction);
  make_ready(pass);
  return observed(seen[0], prediction, Verdict::kPending);
}

UpdateReport WholeWindowStep::adapt(const Pass& window) {
  UpdateReport report =
      descend(window, [this](const Pass& pass) { return loss_of(pass); });
  report.verdicts.assign(static_cast<size_t>(window.images.size(0)),
                         Verdict::kAdmitted);
  return report;
}

}  // namespace sotta
