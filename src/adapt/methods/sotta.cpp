#include "adapt/methods/sotta.h"

#include <cmath>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "sotta/core/options.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/memory_method.h"
#include "adapt/methods/confidence_threshold.h"
#include "adapt/methods/frozen.h"
#include "core/checks.h"
#include "nn/sharpness.h"

namespace sotta {
namespace {

const std::vector<std::string> kMemories = {
    "hus", "hus_cleared", "confident_fifo", "uniform_class", "fifo"};

std::unique_ptr<SampleMemory> make_memory(const MethodContext& context,
                                          const SottaOptions& options) {
  const int64_t capacity = options.memory_capacity;
  const int64_t classes = context.model->classes();
  if (options.memory == "fifo") return make_fifo_memory(capacity, 0);
  if (options.memory == "uniform_class")
    return make_hus_memory(capacity, classes, 0);

  const double min_confidence = options.min_confidence < 0
                                    ? automatic_threshold(context)
                                    : options.min_confidence;
  return options.memory == "confident_fifo"
             ? make_fifo_memory(capacity, min_confidence)
             : make_hus_memory(capacity, classes, min_confidence);
}

class Sotta : public MemoryMethod {
 public:
  Sotta(const MethodContext& context, const SottaOptions& options)
      : MemoryMethod(context, make_memory(context, options),
                     options.memory_capacity),
        options_(options),
        mask_(trainable_mask(model(), options.frozen)),
        optimiser_(
            make_adam({options.learning_rate, options.weight_decay}, mask_)),
        step_(
            executor(),
            [this](const at::Tensor& images) {
              return minimise_sharpness(images);
            },
            /*full_batch=*/options.memory_capacity) {}

  void exchange(StateArchive& archive) override {
    archive("affine", state_.affine);
    archive("running_mean", state_.running_mean);
    archive("running_var", state_.running_var);
    archive.survives_trial(
        [&] { archive("adam", *optimiser_, state_.affine); });
    memory_.exchange(archive, device());
  }

  double statistics_share() const override {
    return 1 - std::pow(1 - options_.stats_momentum, options_.stats_updates);
  }

 private:
  UpdateReport learn(const at::Tensor& images) override {
    executor().begin_step(*optimiser_, state_.affine);
    const Step step = step_(images);
    UpdateReport report;
    report.applied = true;
    report.loss = step.loss;
    report.gradient_norm = step.gradient_norm;
    report.perturbed_loss = step.perturbed_loss;
    report.perturbation_norm = step.perturbation_norm;
    report.parameter_change = step.parameter_change;
    if (measures_loss_after()) report.loss_after = loss_now(images);
    if (options_.memory == "hus_cleared") memory_.clear();
    return report;
  }

  // The numbers of a step; those of the sharpness step undefined without one.
  struct Step {
    at::Tensor loss, gradient_norm;
    at::Tensor perturbed_loss, perturbation_norm;
    at::Tensor parameter_change;

    std::vector<at::Tensor*> tensors() {
      return {&loss, &gradient_norm, &perturbed_loss, &perturbation_norm,
              &parameter_change};
    }
  };

  // Entropy-sharpness minimisation: the gradient at the sharpest point nearby,
  // the step from where the parameters are.
  Step minimise_sharpness(const at::Tensor& images) {
    Step step;
    const at::Tensor before = state_.affine.clone();
    EntropyPass pass = run(images, before);
    step.loss = pass.loss;
    step.gradient_norm = pass.gradient.norm();
    blend_statistics(pass.result);

    if (options_.sharpness) {
      const at::Tensor sharpest =
          sharpest_point(before, pass.gradient, options_.sharpness_radius);
      pass = run(images, sharpest);
      step.perturbed_loss = pass.loss;
      step.perturbation_norm = sharpest.sub(before).norm();
    }
    if (options_.stats_updates == 2) blend_statistics(pass.result);

    optimiser_->take_step(state_.affine, pass.gradient);
    step.parameter_change = state_.affine.sub(before).norm();
    return step;
  }

  struct EntropyPass {
    at::Tensor loss;
    at::Tensor gradient;  // of the trained parameters, 0 elsewhere
    ForwardResult result;
  };

  // The memory's mean entropy and its gradient at `affine`, under the memory's
  // own statistics.
  EntropyPass run(const at::Tensor& images, const at::Tensor& affine) const {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = as_leaf(affine);
    ModelState state = state_;
    state.affine = leaf;
    ForwardResult result =
        executor().forward(images, state, NormStats::batch());
    const at::Tensor loss = loss_of(result);
    at::Tensor gradient = executor().gradient(loss, leaf);
    if (mask_.defined()) gradient.mul_(mask_);
    return {loss.detach(), gradient, std::move(result)};
  }

  at::Tensor loss_of(const ForwardResult& result) const {
    const at::Tensor loss = mean_entropy(result.logits);
    return options_.entropy_per_class ? loss.div(model().classes()) : loss;
  }

  at::Tensor loss_now(const at::Tensor& images) const {
    const at::NoGradGuard no_gradients;
    return loss_of(executor().forward(images, state_, NormStats::batch()));
  }

  void blend_statistics(const ForwardResult& result) {
    state_.running_mean.lerp_(result.batch_mean, options_.stats_momentum);
    state_.running_var.lerp_(result.batch_var, options_.stats_momentum);
  }

  SottaOptions options_;
  at::Tensor mask_;
  std::unique_ptr<Optimiser> optimiser_;
  RecurringWork<Step> step_;  // minimise_sharpness()
};

}  // namespace

SottaOptions SottaOptions::preset(Preset preset, int64_t classes) {
  SottaOptions options;
  options.min_confidence = threshold_for_classes(classes);
  options.weight_decay = weight_decay_of(preset, classes);
  options.entropy_per_class = preset == Preset::kPaper;
  return options;
}

void validate(const SottaOptions& options) {
  if (options.min_confidence != SottaOptions::kAutoConfidence)
    require_within("min_confidence", options.min_confidence, 0, 1);
  require_one_of("memory", options.memory, kMemories);
  require_within("memory_capacity", options.memory_capacity, 1, 1 << 20);
  require_positive("sharpness_radius", options.sharpness_radius);
  require_within("stats_momentum", options.stats_momentum, 0, 1);
  require_within("stats_updates", options.stats_updates, 1, 2);
  require_positive("learning_rate", options.learning_rate);
  require_not_negative("weight_decay", options.weight_decay);
}

std::unique_ptr<Method> make_sotta(const MethodContext& context,
                                   const SottaOptions& options) {
  validate(options);
  return std::make_unique<Sotta>(context, options);
}

}  // namespace sotta
