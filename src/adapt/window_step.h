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

  // One step down the gradient of the loss, or of the pass's own if it has one.
  UpdateReport descend(const Pass& pass, const Loss& loss);

 private:
  std::unique_ptr<Optimiser> optimiser_;
};

}  // namespace sotta
