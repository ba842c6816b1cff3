#include "sotta/adapt/sotta.h"

#include <cmath>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

#include "sotta/adapt/confidence_threshold.h"
#include "sotta/core/checks.h"
#include "sotta/core/options.h"
#include "sotta/nn/convolution.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"
#include "sotta/nn/sharpness.h"

#include "adapt/frozen.h"
#include "adapt/memory_method.h"

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
        replay_(context.replay && device().is_cuda()),
        step_([this](const at::Tensor& images) { return make_step(images); },
              context.replay) {}

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
    optimiser_->begin_step(state_.affine, replay_);
    // A memory that still fills has another size at almost every step.
    const bool full = images.size(0) == options_.memory_capacity;
    const LeastBatch as_if_full(replay_ ? options_.memory_capacity : 0);
    const at::Tensor numbers = (full ? step_(images) : make_step(images))[0];
    UpdateReport report;
    report.applied = true;
    report.loss = numbers[0];
    report.gradient_norm = numbers[1];
    report.parameter_change = numbers[2];
    if (options_.sharpness) {
      report.perturbed_loss = numbers[3];
      report.perturbation_norm = numbers[4];
    }
    if (measures_loss_after()) report.loss_after = loss_now(images);
    if (options_.memory == "hus_cleared") memory_.clear();
    return report;
  }

  // All device's work of an update. Gives the report's numbers, together: loss,
  // norms of gradient and parameter change, those of the sharpness step.
  std::vector<at::Tensor> make_step(const at::Tensor& images) {
    const at::Tensor before = state_.affine.clone();
    Pass pass = run(images, before);
    at::Tensor gradient = pass.gradient;
    std::vector<at::Tensor> numbers = {pass.loss, gradient.norm()};
    blend_statistics(pass.result);

    std::vector<at::Tensor> sharpness_numbers;
    if (options_.sharpness) {
      const at::Tensor sharpest =
          sharpest_point(before, gradient, options_.sharpness_radius);
      pass = run(images, sharpest);
      gradient = pass.gradient;
      sharpness_numbers = {pass.loss, sharpest.sub(before).norm()};
    }
    if (options_.stats_updates == 2) blend_statistics(pass.result);

    optimiser_->take_step(state_.affine, gradient);
    numbers.push_back(state_.affine.sub(before).norm());
    numbers.insert(numbers.end(), sharpness_numbers.begin(),
                   sharpness_numbers.end());
    return {at::stack(numbers)};
  }

  struct Pass {
    at::Tensor loss;
    at::Tensor gradient;  // of the trained parameters, 0 elsewhere
    ForwardResult result;
  };

  // The memory's mean entropy and its gradient at `affine`, under the memory's
  // own statistics.
  Pass run(const at::Tensor& images, const at::Tensor& affine) const {
    const at::AutoGradMode with_gradients(true);
    const at::Tensor leaf = as_leaf(affine);
    ModelState state = state_;
    state.affine = leaf;
    ForwardResult result = model().forward(images, state, NormStats::batch());
    const at::Tensor loss = loss_of(result);
    at::Tensor gradient = gradient_of(loss, leaf);
    if (mask_.defined()) gradient.mul_(mask_);
    return {loss.detach(), gradient, std::move(result)};
  }

  at::Tensor loss_of(const ForwardResult& result) const {
    const at::Tensor loss = mean_entropy(result.logits);
    return options_.entropy_per_class ? loss.div(model().classes()) : loss;
  }

  at::Tensor loss_now(const at::Tensor& images) const {
    const at::NoGradGuard no_gradients;
    return loss_of(model().forward(images, state_, NormStats::batch()));
  }

  void blend_statistics(const ForwardResult& result) {
    state_.running_mean.lerp_(result.batch_mean, options_.stats_momentum);
    state_.running_var.lerp_(result.batch_var, options_.stats_momentum);
  }

  SottaOptions options_;
  at::Tensor mask_;
  std::unique_ptr<Optimiser> optimiser_;
  bool replay_;
  CapturedFunction step_;  // make_step()
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
