#include "sotta/adapt/method.h"

#include <utility>

namespace sotta {

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
