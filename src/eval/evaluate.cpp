#include "sotta/eval/evaluate.h"

#include <algorithm>

#include <c10/core/InferenceMode.h>

#include "core/checks.h"
#include "core/stopwatch.h"
#include "eval/accuracy_note.h"
#include "eval/check_fit.h"
#include "gpu/device_work.h"
#include "gpu/upload.h"

namespace sotta {
namespace {

void check_options(const EvaluateOptions& options) {
  require_at_least("batch", options.batch, 1);
  require_at_least("limit", options.limit, 0);
}

int64_t count_correct(const Classifier& model, const LabelledImages& batch) {
  const at::Device device = model.source().affine.device();
  const DeviceWork at_work(device);
  const ForwardResult result = model.forward(
      upload(batch.images, device), model.source(), NormStats::running());
  return result.logits.argmax(1)
      .eq(upload(batch.labels, device))
      .sum()
      .item<int64_t>();
}

}  // namespace

double EvaluateResult::accuracy() const {
  return samples == 0 ? 0.0
                      : 100.0 * static_cast<double>(correct) /
                            static_cast<double>(samples);
}

EvaluateResult evaluate(const Classifier& model, const Dataset& data,
                        const EvaluateOptions& options,
                        const ProgressCallback& progress) {
  check_options(options);
  check_fit(model, data, "evaluate");
  const c10::InferenceMode no_gradients;
  const int64_t total =
      options.limit == 0 ? data.size() : std::min(options.limit, data.size());

  EvaluateResult result;
  const Stopwatch watch;
  while (result.samples < total && !result.stopped) {
    const int64_t end = std::min(result.samples + options.batch, total);
    result.correct += count_correct(model, data.range(result.samples, end));
    result.samples = end;
    if (progress)
      result.stopped =
          !progress({result.samples, total, accuracy_note(result.accuracy())});
  }
  result.seconds = watch.seconds();
  return result;
}

}  // namespace sotta
