#include "adapt/window_step.h"

#include <utility>

#include "sotta/nn/gradient.h"

namespace sotta {

WindowStep::WindowStep(const MethodContext& context,
                       std::unique_ptr<Optimiser> optimiser)
    : WindowMethod(context), optimiser_(std::move(optimiser)) {}

UpdateReport WindowStep::descend(const Pass& pass, const Loss& loss) {
  UpdateReport report;
  const at::Tensor before = state_.affine.clone();
  const bool replayed = pass.gradient.defined();
  const at::Tensor value = replayed ? pass.loss : loss(pass);
  const at::Tensor gradient =
      replayed ? pass.gradient : gradient_of(value, pass.affine);
  optimiser_->step(state_.affine, gradient);

  report.applied = true;
  report.loss = value.detach();
  report.loss_after = loss_after(pass.images, loss);
  report.gradient_norm = gradient.norm();
  report.parameter_change = state_.affine.sub(before).norm();
  return report;
}

void WindowStep::exchange(StateArchive& archive) {
  WindowMethod::exchange(archive);
  archive.survives_trial(
      [&] { archive("optimiser", *optimiser_, state_.affine); });
}

}  // namespace sotta
