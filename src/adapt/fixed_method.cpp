#include "adapt/fixed_method.h"

#include <ATen/core/grad_mode.h>

#include "sotta/nn/captured_function.h"

namespace sotta {
namespace {

class FixedMethod : public Method {
 public:
  FixedMethod(const MethodContext& context, NormStats stats)
      : model_(context.model),
        stats_(stats),
        look_(
            [this](const at::Tensor& images) -> std::vector<at::Tensor> {
              const at::Tensor logits = predict(images);
              return {logits, pack_prediction(logits)};
            },
            context.replay) {}

  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    return model_->forward(images, model_->source(), stats_).logits;
  }

  Observation observe(const at::Tensor& images, bool) override {
    const auto seen = look_(images);
    return observed(seen[0], read_prediction(seen[1]), Verdict::kNotScreened);
  }

  UpdateReport update() override {
    UpdateReport report;
    report.skipped = "the method does not adapt";
    return report;
  }

  void exchange(StateArchive&) override {}

  ModelState state() const override { return model_->source(); }
  NormStats prediction_stats() const override { return stats_; }

 private:
  std::shared_ptr<const Classifier> model_;
  NormStats stats_;
  CapturedFunction look_;  // images -> logits, prediction
};

}  // namespace

std::unique_ptr<Method> make_fixed_method(const MethodContext& context,
                                          NormStats stats) {
  return std::make_unique<FixedMethod>(context, stats);
}

}  // namespace sotta
