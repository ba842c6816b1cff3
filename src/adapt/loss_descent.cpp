#include "adapt/loss_descent.h"

#include <utility>
#include <vector>

#include "adapt/gradient_step.h"
#include "adapt/window_method.h"
#include "engine/recurring_work.h"

namespace sotta {
namespace {

// The loss of a window and its gradient.
struct Slope {
  at::Tensor loss;
  at::Tensor gradient;

  std::vector<at::Tensor*> needed_on_host() { return {}; }
};

class LossDescent : public WindowMethod<Slope> {
 public:
  using LogitLoss = std::function<at::Tensor(const at::Tensor&)>;

  LossDescent(const MethodContext& context,
              std::unique_ptr<Optimiser> optimiser, LogitLoss loss)
      : WindowMethod(context),
        optimiser_(std::move(optimiser)),
        loss_(std::move(loss)),
        passes_(executor(), [this](const at::Tensor& images) {
          return run_both_passes(images);
        }) {}

  void exchange(StateArchive& archive) override {
    WindowMethod::exchange(archive);
    archive.survives_trial(
        [&] { archive("optimiser", *optimiser_, state_.affine); });
  }

 private:
  Slope assess(const WindowPass& window) const override {
    const at::Tensor loss = loss_(window.result.logits);
    return {loss.detach(), executor().gradient(loss, window.affine)};
  }

  UpdateReport adapt(const WindowPass& window, const Slope& slope) override {
    UpdateReport report = take_gradient_step(*optimiser_, state_.affine,
                                             slope.loss, slope.gradient);
    report.loss_after = loss_after(window.images, [this](const auto& pass) {
      return loss_(pass.result.logits);
    });
    report.verdicts.assign(static_cast<size_t>(window.images.size(0)),
                           Verdict::kAdmitted);
    return report;
  }

  // Forward and backward pass, between which nothing has to be decided: work
  // that recurs.
  struct BothPasses {
    at::Tensor logits;
    at::Tensor prediction;
    Slope slope;

    std::vector<at::Tensor*> tensors() {
      return {&logits, &prediction, &slope.loss, &slope.gradient};
    }
  };

  BothPasses run_both_passes(const at::Tensor& images) const {
    const at::AutoGradMode with_gradients(true);
    const WindowPass pass = run(images, as_leaf(state_.affine));
    const at::Tensor logits = pass.result.logits.detach();
    return {logits, pack_prediction(logits), assess(pass)};
  }

  Window look(const at::Tensor& images) override {
    if (!executor().prepares_updates_early(/*needs_host=*/false))
      return WindowMethod::look(images);
    const BothPasses seen = passes_(images);
    Window window;
    window.pass.images = images;
    window.pass.result.logits = seen.logits;
    window.prediction = seen.prediction;
    window.assessment = seen.slope;
    return window;
  }

  std::unique_ptr<Optimiser> optimiser_;
  LogitLoss loss_;
  RecurringWork<BothPasses> passes_;
};

}  // namespace

std::unique_ptr<Method> make_loss_descent(
    const MethodContext& context, std::unique_ptr<Optimiser> optimiser,
    std::function<at::Tensor(const at::Tensor& logits)> loss) {
  return std::make_unique<LossDescent>(context, std::move(optimiser),
                                       std::move(loss));
}

}  // namespace sotta
