#include "adapt/methods/sar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/TensorOperators.h>

#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"

#include "adapt/methods/frozen.h"
#include "adapt/methods/selected_mean.h"
#include "adapt/window_method.h"
#include "core/checks.h"
#include "nn/sharpness.h"

namespace sotta {
namespace {

// Both passes over a window: at the parameters, and at the sharpest point.
struct Assessment {
  at::Tensor reliable;                            // S1, bool [N]
  at::Tensor loss, gradient;                      // over S1, at the parameters
  at::Tensor sharpest;                            // the point
  at::Tensor perturbed_loss, perturbed_gradient;  // over S2, at that point

  // On the host: whether S1 has any sample, S2 as 0 or 1 [N], perturbed_loss.
  at::Tensor known_reliable, known_selected, known_loss;

  std::vector<at::Tensor*> tensors() {
    return {&reliable,       &loss,           &gradient,
            &sharpest,       &perturbed_loss, &perturbed_gradient,
            &known_reliable, &known_selected, &known_loss};
  }
  std::vector<at::Tensor*> needed_on_host() {
    return {&known_reliable, &known_selected, &known_loss};
  }
};

class Sar : public WindowMethod<Assessment> {
 public:
  Sar(const MethodContext& context, const SarOptions& options)
      : WindowMethod(context),
        options_(options),
        mask_(trainable_mask(*context.model, options.frozen)),
        optimiser_(
            make_sgd({options.learning_rate, options.momentum, 0}, mask_)) {}

  void exchange(StateArchive& archive) override {
    WindowMethod::exchange(archive);
    archive.survives_trial([&] {
      archive("optimiser", *optimiser_, state_.affine);
      archive("ema", ema_);
    });
  }

 private:
  // Both passes of an update change nothing yet. With S2 empty the gradient is
  // zero, and the step still follows its momentum.
  Assessment assess(const WindowPass& window) const override {
    Assessment seen;
    const at::Tensor entropies = entropy(window.result.logits);
    seen.reliable = entropies.detach() < options_.entropy_margin;
    const at::Tensor loss = selected_mean(entropies, seen.reliable);
    seen.loss = loss.detach();
    seen.gradient = trained_gradient(loss, window.affine);

    seen.sharpest =
        sharpest_point(state_.affine, seen.gradient, options_.sharpness_radius);
    // The whole window again, for its statistics.
    const WindowPass perturbed = run(window.images, as_leaf(seen.sharpest));
    const at::Tensor again = entropy(perturbed.result.logits);
    const at::Tensor still_reliable =
        seen.reliable & (again.detach() < options_.entropy_margin);
    const at::Tensor perturbed_loss = selected_mean(again, still_reliable);
    seen.perturbed_loss = perturbed_loss.detach();
    seen.perturbed_gradient =
        trained_gradient(perturbed_loss, perturbed.affine);

    seen.known_reliable = seen.reliable.any().to(at::kFloat);
    seen.known_selected = still_reliable.to(at::kFloat);
    seen.known_loss = seen.perturbed_loss;
    return seen;
  }

  UpdateReport adapt(const at::Tensor& images,
                     const Assessment& seen) override {
    const at::Tensor before = state_.affine.clone();
    optimiser_->step(state_.affine, seen.perturbed_gradient);

    UpdateReport report;
    report.applied = true;
    report.verdicts = verdicts_of(seen.known_selected);
    const bool any_reliable = seen.known_reliable.item<float>() != 0;
    const bool any_selected =
        std::count(report.verdicts.begin(), report.verdicts.end(),
                   Verdict::kAdmitted) > 0;
    if (any_selected) follow(seen.known_loss.item<float>());
    if (options_.reset_threshold > 0 && ema_ < options_.reset_threshold) {
      recover();
      report.applied = false;
      report.skipped =
          "the moving loss is below the threshold: back to the source";
    }

    if (any_reliable) report.loss = seen.loss;
    if (any_selected) report.perturbed_loss = seen.perturbed_loss;
    report.gradient_norm = seen.gradient.norm();
    report.perturbation_norm = seen.sharpest.sub(before).norm();
    report.parameter_change = state_.affine.sub(before).norm();
    report.loss_after = loss_after(images, [&](const WindowPass& pass) {
      return selected_mean(entropy(pass.result.logits), seen.reliable);
    });
    return report;
  }

  at::Tensor trained_gradient(const at::Tensor& loss,
                              const at::Tensor& affine) const {
    const at::Tensor gradient = executor().gradient(loss, affine);
    return mask_.defined() ? gradient * mask_ : gradient;
  }

  static std::vector<Verdict> verdicts_of(const at::Tensor& selected) {
    std::vector<Verdict> verdicts;
    const auto* is_selected = selected.data_ptr<float>();
    for (int64_t i = 0; i < selected.numel(); ++i)
      verdicts.push_back(is_selected[i] != 0 ? Verdict::kAdmitted
                                             : Verdict::kUnreliable);
    return verdicts;
  }

  void follow(double loss) {
    const double keep = options_.ema_momentum;
    ema_ = std::isnan(ema_) ? loss : keep * ema_ + (1 - keep) * loss;
  }

  // Deviation: a reset was meant to start the moving loss afresh as well,
  // but in the authors' code it does not, nor the momentum.
  void recover() { state_.affine.copy_(model().source().affine); }

  SarOptions options_;
  at::Tensor mask_;
  std::unique_ptr<Optimiser> optimiser_;
  double ema_ = std::numeric_limits<double>::quiet_NaN();  // none yet
};

}  // namespace

SarOptions SarOptions::preset(Preset, int64_t classes) {
  SarOptions options;
  options.entropy_margin = entropy_margin_of(classes);
  return options;
}

void validate(const SarOptions& options) {
  require_positive("entropy_margin", options.entropy_margin);
  require_positive("sharpness_radius", options.sharpness_radius);
  require_not_negative("reset_threshold", options.reset_threshold);
  require_within("ema_momentum", options.ema_momentum, 0, 1);
  require_positive("learning_rate", options.learning_rate);
  require_within("momentum", options.momentum, 0, 0.9999);
}

std::unique_ptr<Method> make_sar(const MethodContext& context,
                                 const SarOptions& options) {
  validate(options);
  return std::make_unique<Sar>(context, options);
}

}  // namespace sotta
