#pragma once

#include <memory>

#include "sotta/nn/optimiser.h"

#include "adapt/window_method.h"

namespace sotta {

// The frame of the methods that take one ordinary step per window on the scales
// and shifts of all norm layers: TENT, pseudo-labels, EATA.
class WindowStep : public WindowMethod {
 public:
  void exchange(StateArchive& archive) override;

 protected:
  WindowStep(const MethodContext& context,
             std::unique_ptr<Optimiser> optimiser);

  // One step down the gradient of the loss.
  UpdateReport descend(const Pass& pass, const Loss& loss);

  // Likewise, for losses that every sample of the window takes part in.
  UpdateReport descend_on_all(const Pass& pass, const Loss& loss);

 private:
  std::unique_ptr<Optimiser> optimiser_;
};

}  // namespace sotta
