#include "sotta/adapt/pseudo_label.h"

#include "sotta/core/checks.h"
#include "sotta/nn/losses.h"

#include "adapt/whole_window_step.h"

namespace sotta {
namespace {

class PseudoLabel : public WholeWindowStep {
 public:
  PseudoLabel(const MethodContext& context, const PseudoLabelOptions& options)
      : WholeWindowStep(
            context, make_adam({options.learning_rate, options.weight_decay})) {
  }

 private:
  // All samples, however unsure.
  at::Tensor loss_of(const Pass& pass) const override {
    return pseudo_label_loss(pass.result.logits).mean();
  }
};

}  // namespace

PseudoLabelOptions PseudoLabelOptions::preset(Preset preset, int64_t classes) {
  PseudoLabelOptions options;
  options.weight_decay = weight_decay_of(preset, classes);
  return options;
}

void validate(const PseudoLabelOptions& options) {
  require_positive("learning_rate", options.learning_rate);
  require_not_negative("weight_decay", options.weight_decay);
}

std::unique_ptr<Method> make_pseudo_label(const MethodContext& context,
                                          const PseudoLabelOptions& options) {
  validate(options);
  return std::make_unique<PseudoLabel>(context, options);
}

}  // namespace sotta
