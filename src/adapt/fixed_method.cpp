#include "adapt/fixed_method.h"

#include <ATen/core/grad_mode.h>

#include "adapt/answer.h"
#include "engine/recurring_work.h"

namespace sotta {
namespace {

class FixedMethod : public Method {
 public:
  FixedMethod(const MethodContext& context, NormStats stats)
      : executor_(executor_of(context)),
        stats_(stats),
        answer_(*executor_, [this](const at::Tensor& images) {
          return Answer(predict(images));
        }) {}

  at::Tensor predict(const at::Tensor& images) const override {
    const at::NoGradGuard no_gradients;
    return executor_->forward(images, state(), stats_).logits;
  }

  Observation observe(const at::Tensor& images, bool) override {
    const Answer answer = answer_(images);
    return observed(answer.logits, read_prediction(answer.packed),
                    Verdict::kNotScreened);
  }

  UpdateReport update() override {
    UpdateReport report;
    report.skipped = "the method does not adapt";
    return report;
  }

  void exchange(StateArchive&) override {}

  ModelState state() const override { return executor_->model().source(); }
  NormStats prediction_stats() const override { return stats_; }

 private:
  std::shared_ptr<const Executor> executor_;
  NormStats stats_;
  RecurringWork<Answer> answer_;
};

}  // namespace

std::unique_ptr<Method> make_fixed_method(const MethodContext& context,
                                          NormStats stats) {
  return std::make_unique<FixedMethod>(context, stats);
}

}  // namespace sotta
