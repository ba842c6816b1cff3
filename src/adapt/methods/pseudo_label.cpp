#include "adapt/methods/pseudo_label.h"

#include "sotta/nn/losses.h"

#include "adapt/loss_descent.h"
#include "core/checks.h"

namespace sotta {

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
  // All samples, however unsure.
  return make_loss_descent(
      context, make_adam({options.learning_rate, options.weight_decay}),
      [](const at::Tensor& logits) {
        return pseudo_label_loss(logits).mean();
      });
}

}  // namespace sotta
