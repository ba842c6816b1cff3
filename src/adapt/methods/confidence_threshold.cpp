#include "adapt/methods/confidence_threshold.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// One clean image in this many may stay below the threshold. An integer: 0.2
// times a multiple of 5 may round to just below a whole number.
constexpr int64_t kOneBelowOf = 5;

constexpr int64_t kBatch = 64;

}  // namespace

double threshold_for_classes(int64_t classes) {
  const auto count = static_cast<double>(classes);
  const double line = 1.32 - 0.33 * std::log10(count);
  return std::clamp(line, std::min(0.99, 1.5 / count), 0.99);
}

double automatic_threshold(const MethodContext& context) {
  const at::Tensor& images = context.source_images;
  if (!images.defined()) return threshold_for_classes(context.model->classes());

  require(images.dim() == 4 && images.size(0) > 0, "source_images",
          "expected at least one image [N, C, H, W], got " +
              c10::str(images.sizes()));
  const auto executor = executor_of(context);
  const at::NoGradGuard no_gradients;
  std::vector<at::Tensor> confidences;
  for (const auto& batch : images.split(kBatch))
    confidences.push_back(
        classify(executor
                     ->forward(batch.to(executor->device()),
                               context.model->source(), NormStats::running())
                     .logits)
            .confidences);
  const at::Tensor sorted = std::get<0>(at::cat(confidences).sort());
  return sorted[sorted.numel() / kOneBelowOf].item<double>();
}

}  // namespace sotta
