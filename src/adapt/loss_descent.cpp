#include "adapt/loss_descent.h"

#include <utility>
#include <vector>

#include "adapt/gradient_step.h"
#include "adapt/window_method.h"

namespace sotta {
namespace {

// The loss of a window and its gradient.
struct Slope {
  at::Tensor loss;
  at::Tensor gradient;

  std::vector<at::Tensor*> tensors() { return {&loss, &gradient}; }
  std::vector<at::Tensor*> needed_on_host() { return {}; }
};

class LossDescent : public WindowMethod<Slope> {
 public:
  using LogitLoss = std::function<at::Tensor(const at::Tensor&)>;

  LossDescent(const MethodContext& context,
              std::unique_ptr<Optimiser> optimiser, LogitLoss loss)
      : WindowMethod(context),
        optimiser_(std::move(optimiser)),
        loss_(std::move(loss)) {}

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

  UpdateReport adapt(const at::Tensor& images, const Slope& slope) override {
    UpdateReport report = take_gradient_step(*optimiser_, state_.affine,
                                             slope.loss, slope.gradient);
    report.loss_after = loss_after(
        images, [this](const auto& pass) { return loss_(pass.result.logits); });
    report.verdicts.assign(static_cast<size_t>(images.size(0)),
                           Verdict::kAdmitted);
    return report;
  }

  std::unique_ptr<Optimiser> optimiser_;
  LogitLoss loss_;
};

}  // namespace

std::unique_ptr<Method> make_loss_descent(
    const MethodContext& context, std::unique_ptr<Optimiser> optimiser,
    std::function<at::Tensor(const at::Tensor& logits)> loss) {
  return std::make_unique<LossDescent>(context, std::move(optimiser),
                                       std::move(loss));
}

}  // namespace sotta
