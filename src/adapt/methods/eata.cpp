#include "adapt/methods/eata.h"

#include <algorithm>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cosine_similarity.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/gradient_step.h"
#include "adapt/methods/fisher.h"
#include "adapt/methods/selected_mean.h"
#include "adapt/window_method.h"
#include "core/checks.h"
#include "core/draw.h"

namespace sotta {
namespace {

at::Tensor make_fisher(const MethodContext& context,
                       const EataOptions& options) {
  if (options.fisher_weight == 0) return {};
  const at::Tensor& images = context.source_images;
  require(images.defined() && images.dim() == 4 && images.size(0) > 0,
          "source_images",
          "EATA takes its Fisher information from images [N, C, H, W], got "
          "none; give some or set fisher_weight to 0");
  const int64_t count = std::min(options.fisher_samples, images.size(0));
  const at::Tensor places = at::tensor(draw_without_replacement(
      images.size(0), count, context.rng.child("fisher")));
  return fisher_information(*executor_of(context),
                            images.index_select(0, places.to(images.device())),
                            options.fisher_batch);
}

// What a window teaches. With nothing selected its numbers mean nothing.
struct Lesson {
  at::Tensor selected;       // bool [N]: reliable, and unlike what came before
  at::Tensor probabilities;  // [K], the selected samples' mean
  at::Tensor loss, gradient;

  // On the host, as 0 or 1 [N].
  at::Tensor known_reliable, known_selected;

  std::vector<at::Tensor*> tensors() {
    return {&selected, &probabilities,  &loss,
            &gradient, &known_reliable, &known_selected};
  }
  std::vector<at::Tensor*> needed_on_host() {
    return {&known_reliable, &known_selected};
  }
};

class Eata : public WindowMethod<Lesson> {
 public:
  Eata(const MethodContext& context, const EataOptions& options)
      : WindowMethod(context),
        options_(options),
        optimiser_(make_sgd(
            {options.learning_rate, options.momentum, options.weight_decay})),
        fisher_(make_fisher(context, options)),
        mean_probabilities_(
            at::zeros({model().classes()}, state_.affine.options())) {}

  void exchange(StateArchive& archive) override {
    WindowMethod::exchange(archive);
    archive.survives_trial([&] {
      archive("optimiser", *optimiser_, state_.affine);
      archive("mean_probabilities", mean_probabilities_, has_mean_);
    });
  }

 private:
  // Selects what is reliable, and unlike what was learned from before. What is
  // not selected is masked out of the means and the loss.
  Lesson assess(const WindowPass& window) const override {
    Lesson lesson;
    const at::Tensor logits = window.result.logits.detach();
    const at::Tensor probabilities = logits.softmax(1);
    const at::Tensor reliable = exact_entropy(logits) < options_.entropy_margin;
    const at::Tensor likeness =
        at::cosine_similarity(probabilities, mean_probabilities_).abs();
    // Before there is a mean everything is new.
    const at::Tensor is_new = (likeness < options_.redundancy_margin) |
                              (mean_probabilities_.sum() == 0);
    lesson.selected = reliable & is_new;
    lesson.probabilities = selected_mean(probabilities, lesson.selected);

    const at::Tensor loss = loss_of(window, lesson.selected);
    lesson.loss = loss.detach();
    lesson.gradient = executor().gradient(loss, window.affine);
    lesson.known_reliable = reliable.to(at::kFloat);
    lesson.known_selected = lesson.selected.to(at::kFloat);
    return lesson;
  }

  // With nothing selected there is no step. The host knows that by now.
  UpdateReport adapt(const at::Tensor& images, const Lesson& lesson) override {
    const std::vector<Verdict> verdicts = verdicts_of(lesson);
    UpdateReport report;
    if (std::count(verdicts.begin(), verdicts.end(), Verdict::kAdmitted) == 0) {
      report.skipped = "no sample of the window is reliable and new";
    } else {
      remember(lesson.probabilities);
      report = take_gradient_step(*optimiser_, state_.affine, lesson.loss,
                                  lesson.gradient);
      report.loss_after = loss_after(images, [&](const WindowPass& pass) {
        return loss_of(pass, lesson.selected);
      });
    }
    report.verdicts = verdicts;
    return report;
  }

  static std::vector<Verdict> verdicts_of(const Lesson& lesson) {
    const auto* is_reliable = lesson.known_reliable.data_ptr<float>();
    const auto* is_selected = lesson.known_selected.data_ptr<float>();
    std::vector<Verdict> verdicts;
    for (int64_t i = 0; i < lesson.selected.numel(); ++i)
      verdicts.push_back(is_selected[i] != 0   ? Verdict::kAdmitted
                         : is_reliable[i] != 0 ? Verdict::kRedundant
                                               : Verdict::kUnreliable);
    return verdicts;
  }

  // Moves the average prediction on.
  void remember(const at::Tensor& mean) {
    const double keep = options_.probability_momentum;
    mean_probabilities_.copy_(
        has_mean_ ? keep * mean_probabilities_ + (1 - keep) * mean : mean);
    has_mean_ = true;
  }

  at::Tensor loss_of(const WindowPass& pass, const at::Tensor& selected) const {
    return weighted_entropy(pass.result.logits, selected) + drift(pass.affine);
  }

  // The surer a prediction, the more it weighs.
  at::Tensor weighted_entropy(const at::Tensor& logits,
                              const at::Tensor& selected) const {
    const at::Tensor entropies = exact_entropy(logits);
    const at::Tensor weights =
        (options_.entropy_margin - entropies.detach()).exp();
    return selected_mean(weights * entropies, selected);
  }

  // How far the parameters that matter are from the source.
  at::Tensor drift(const at::Tensor& affine) const {
    if (!fisher_.defined()) return at::zeros({}, affine.options());
    return options_.fisher_weight *
           (fisher_ * (affine - model().source().affine).square()).sum();
  }

  EataOptions options_;
  std::unique_ptr<Optimiser> optimiser_;
  at::Tensor fisher_;              // as ModelState::affine
  at::Tensor mean_probabilities_;  // [K], zeros until there is one
  bool has_mean_ = false;
};

}  // namespace

EataOptions EataOptions::preset(Preset preset, int64_t classes) {
  EataOptions options;
  options.entropy_margin = entropy_margin_of(classes);
  if (has_imagenet_size(classes)) {
    options.redundancy_margin = 0.05;
    options.fisher_weight = 2000;
    options.learning_rate = 2.5e-4;
  }
  options.weight_decay = weight_decay_of(preset, classes);
  return options;
}

void validate(const EataOptions& options) {
  require_positive("entropy_margin", options.entropy_margin);
  require_not_negative("redundancy_margin", options.redundancy_margin);
  require_within("probability_momentum", options.probability_momentum, 0, 1);
  require_not_negative("fisher_weight", options.fisher_weight);
  require_within("fisher_samples", options.fisher_samples, 1, int64_t{1} << 40);
  require_within("fisher_batch", options.fisher_batch, 1, 1 << 20);
  require_positive("learning_rate", options.learning_rate);
  require_within("momentum", options.momentum, 0, 0.9999);
  require_not_negative("weight_decay", options.weight_decay);
}

std::unique_ptr<Method> make_eata(const MethodContext& context,
                                  const EataOptions& options) {
  validate(options);
  return std::make_unique<Eata>(context, options);
}

}  // namespace sotta
