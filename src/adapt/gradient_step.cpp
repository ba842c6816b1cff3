#include "adapt/gradient_step.h"

namespace sotta {

UpdateReport take_gradient_step(Optimiser& optimiser,
                                const at::Tensor& parameters,
                                const at::Tensor& loss,
                                const at::Tensor& gradient) {
  const at::Tensor before = parameters.clone();
  optimiser.step(parameters, gradient);

  UpdateReport report;
  report.applied = true;
  report.loss = loss.detach();
  report.gradient_norm = gradient.norm();
  report.parameter_change = parameters.sub(before).norm();
  return report;
}

}  // namespace sotta
