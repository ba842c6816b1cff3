#pragma once

#include <memory>

#include "sotta/nn/captured_function.h"

#include "adapt/window_step.h"

namespace sotta {

// The frame of the methods whose loss every sample of the window takes part in:
// TENT and pseudo-labels. A whole window's forward and backward pass depend on
// nothing that has to be decided on the way, so a GPU can replay them.
class WholeWindowStep : public WindowStep {
 public:
  Observation observe(const at::Tensor& images, bool completes_window) override;

 protected:
  WholeWindowStep(const MethodContext& context,
                  std::unique_ptr<Optimiser> optimiser);

  virtual at::Tensor loss_of(const Pass& pass) const = 0;

 private:
  UpdateReport adapt(const Pass& window) override;

  bool replay_;
  CapturedFunction look_;  // images -> logits, prediction, loss, gradient
};

}  // namespace sotta
