#pragma once

#include <memory>

#include "sotta/adapt/method.h"

namespace sotta {

// Options of the ODIN screen (Liang et al., ICLR 2018), which SoTTA's appendix
// puts in front of other methods. It gives only the range its threshold was
// searched in, 0.1 to 0.12 for ten classes; the rest is ODIN's own.
struct OdinOptions {
  // Softmax temperature of the score. At 1000 all scores lie just above chance.
  double temperature = 1000;

  // How far each pixel in [0, 1] is moved towards higher confidence before it
  // is scored.
  double step = 0.0014;

  // Samples whose score is below this are flagged. 0 flags none.
  double threshold = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("odin_temperature", temperature, "softmax temperature of the score");
    v("odin_step", step, "change of each pixel before scoring");
    v("odin_threshold", threshold, "samples that score less are flagged");
  }
};

void validate(const OdinOptions& options);

// The score of every image under the source model, float [N]: its largest
// tempered softmax probability after the step. High for familiar images.
at::Tensor odin_scores(const Executor& executor, const at::Tensor& images,
                       const OdinOptions& options);

// Puts the screen in front of a method: flagged samples are predicted, but the
// method adapts as if they had not come. Costs a forward and a backward pass of
// the source model for the score, and a further forward pass.
std::unique_ptr<Method> make_odin_screen(const MethodContext& context,
                                         const OdinOptions& options,
                                         std::unique_ptr<Method> method);

}  // namespace sotta
