#include "sotta/adapt/method.h"

#include <utility>

#include "sotta/core/error.h"

namespace sotta {

std::shared_ptr<const Executor> executor_of(const MethodContext& context) {
  if (!context.executor) return std::make_shared<Executor>(context.model);
  require(&context.executor->model() == context.model.get(), "executor",
          "expected one for the context's model, got another model's");
  return context.executor;
}

Observation observed(at::Tensor logits, Prediction prediction, Verdict all) {
  const auto count = static_cast<size_t>(logits.size(0));
  return {std::move(logits), std::move(prediction),
          std::vector<Verdict>(count, all)};
}

UpdateReport not_finite(int64_t samples) {
  UpdateReport report;
  report.skipped = "the window's logits are not finite";
  report.verdicts.assign(static_cast<size_t>(samples), Verdict::kNotFinite);
  return report;
}

}  // namespace sotta
