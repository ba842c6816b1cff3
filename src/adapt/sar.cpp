#include "sotta/adapt/sar.h"

#include <any>
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "sotta/core/checks.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/optimiser.h"
#include "sotta/nn/sharpness.h"

#include "adapt/frozen.h"
#include "adapt/selected_mean.h"
#include "adapt/window_method.h"

namespace sotta {
namespace {

class Sar : public WindowMethod {
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
  // Both passes of an update: at the parameters, and at the sharpest point.
  struct Outlook {
    at::Tensor reliable;  // bool [N]
    at::Tensor loss, gradient;
    at::Tensor sharpest;
    at::Tensor perturbed_loss, perturbed_gradient;
  };

  // What has to be known: which samples are learned from, whether any was
  // reliable at first, and the loss that the moving one follows.
  at::Tensor foresee(Pass& window) const override {
    const at::Tensor entropies = entropy(window.result.logits);
    const at::Tensor reliable = entropies.detach() < options_.entropy_margin;
    const at::Tensor loss = selected_mean(entropies, reliable);
    const at::Tensor gradient = trained_gradient(loss, window.affine);
    const at::Tensor sharpest =
        sharpest_point(state_.affine, gradient, options_.sharpness_radius);

    // The whole window again, for its statistics; its reliable part counts, as
    // far as it is reliable there too. With none the gradient is zero, and the
    // step still follows its momentum.
    const Pass perturbed = run(window.images, as_leaf(sharpest));
    const at::Tensor again = entropy(perturbed.result.logits);
    const at::Tensor still =
        reliable & (again.detach() < options_.entropy_margin);
    const at::Tensor perturbed_loss = selected_mean(again, still);
    window.foreseen =
        Outlook{reliable,
                loss.detach(),
                gradient,
                sharpest,
                perturbed_loss.detach(),
                trained_gradient(perturbed_loss, perturbed.affine)};
    return at::cat({still.to(at::kFloat), reliable.any().to(at::kFloat).view(1),
                    perturbed_loss.detach().view(1)});
  }

  UpdateReport adapt(const Pass& window) override {
    const auto seen = std::any_cast<Outlook>(window.foreseen);
    UpdateReport report;
    const at::Tensor before = state_.affine.clone();
    optimiser_->step(state_.affine, seen.perturbed_gradient);

    report.applied = true;
    report.loss = seen.loss;
    report.perturbed_loss = seen.perturbed_loss;
    report.gradient_norm = seen.gradient.norm();
    report.perturbation_norm = seen.sharpest.sub(before).norm();
    conclude(report, window.known);
    report.parameter_change = state_.affine.sub(before).norm();
    report.loss_after = loss_after(window.images, [&](const Pass& pass) {
      return selected_mean(entropy(pass.result.logits), seen.reliable);
    });
    return report;
  }

  at::Tensor trained_gradient(const at::Tensor& loss,
                              const at::Tensor& affine) const {
    const at::Tensor gradient = gradient_of(loss, affine);
    return mask_.defined() ? gradient * mask_ : gradient;
  }

  // Verdicts, the moving loss, and what follows from it.
  void conclude(UpdateReport& report, const at::Tensor& numbers) {
    const int64_t count = numbers.numel() - 2;
    const auto* number = numbers.data_ptr<float>();
    bool any = false;
    for (int64_t i = 0; i < count; ++i) {
      any = any || number[i] != 0;
      report.verdicts.push_back(number[i] != 0 ? Verdict::kAdmitted
                                               : Verdict::kUnreliable);
    }
    if (number[count] == 0) report.loss = at::Tensor();
    if (any)
      follow(number[count + 1]);
    else
      report.perturbed_loss = at::Tensor();
    if (options_.reset_threshold > 0 && ema_ < options_.reset_threshold) {
      recover();
      report.applied = false;
      report.skipped =
          "the moving loss is below the threshold: back to the source";
    }
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
