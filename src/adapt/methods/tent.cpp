#include "adapt/methods/tent.h"

#include "sotta/core/options.h"
#include "sotta/nn/losses.h"

#include "adapt/loss_descent.h"
#include "core/checks.h"

namespace sotta {
namespace {

std::unique_ptr<Optimiser> make_optimiser(const TentOptions& options) {
  if (options.optimiser == "sgd")
    return make_sgd(
        {options.learning_rate, options.momentum, options.weight_decay});
  return make_adam({options.learning_rate, options.weight_decay});
}

}  // namespace

TentOptions TentOptions::preset(Preset preset, int64_t classes) {
  TentOptions options;
  if (has_imagenet_size(classes)) {
    options.learning_rate = 2.5e-4;
    options.optimiser = "sgd";
  }
  if (preset == Preset::kPaper) options.momentum = 0;
  options.weight_decay = weight_decay_of(preset, classes);
  options.entropy_per_class = preset == Preset::kPaper;
  return options;
}

void validate(const TentOptions& options) {
  require_positive("learning_rate", options.learning_rate);
  require_one_of("optimiser", options.optimiser, {"adam", "sgd"});
  require_within("momentum", options.momentum, 0, 0.9999);
  require_not_negative("weight_decay", options.weight_decay);
}

std::unique_ptr<Method> make_tent(const MethodContext& context,
                                  const TentOptions& options) {
  validate(options);
  const int64_t classes = context.model->classes();
  return make_loss_descent(
      context, make_optimiser(options), [=](const at::Tensor& logits) {
        const at::Tensor loss = mean_entropy(logits);
        return options.entropy_per_class ? loss.div(classes) : loss;
      });
}

}  // namespace sotta
