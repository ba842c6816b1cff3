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
  const at::Tensor value = loss(pass);
  const at::Tensor gradient = gradient_of(value, pass.affine);
  optimiser_->step(state_.affine, gradient);

  report.applied = true;
  report.loss = value.detach();
  report.loss_after = loss_after(pass.images, loss);
  report.gradient_norm = gradient.norm();
  report.parameter_change = state_.affine.sub(before).norm();
  return report;
}

UpdateReport WindowStep::descend_on_all(const Pass& pass, const Loss& loss) {
  UpdateReport report = descend(pass, loss);
  report.verdicts.assign(static_cast<size_t>(pass.images.size(0)),
                         Verdict::kAdmitted);
  return report;
}

void WindowStep::exchange(StateArchive& archive) {
  WindowMethod::exchange(archive);
  archive("optimiser", *optimiser_, state_.affine);
}

}  // namespace sotta
