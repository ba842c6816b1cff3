// Adapts a classifier to a stream: Fashion-MNIST through a lens that lost half
// of its light.
//   1_adapt_a_stream models/fashion_resnet8.safetensors [data root]
#include <cstdio>

#include <ATen/core/Tensor.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/data/dataset.h"
#include "sotta/engine/open_model.h"

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s WEIGHTS [DATA_ROOT]\n", argv[0]);
    return 2;
  }
  sotta::MethodContext context;
  context.model = sotta::open_model(argv[1]);
  const auto adapter = sotta::make_adapter("sotta", context);
  const auto data =
      sotta::open_dataset("fashion-mnist", argc > 2 ? argv[2] : "data");

  int64_t frozen = 0, adapted = 0, admitted = 0;
  const int64_t total = 2048, window = 64;
  for (int64_t i = 0; i < total; i += window) {
    const auto [images, labels] = data->range(i, i + window);
    const at::Tensor dark = images.div(2, "trunc");

    const sotta::StepResult result = adapter->step(dark);

    adapted += result.prediction.labels.eq(labels).sum().item<int64_t>();
    for (const auto verdict : result.verdicts)
      admitted += verdict == sotta::Verdict::kAdmitted;
    const auto& model = *context.model;
    frozen += model.forward(dark, model.source(), sotta::NormStats::running())
                  .logits.argmax(1)
                  .eq(labels)
                  .sum()
                  .item<int64_t>();
  }
  std::printf(
      "as shipped %.1f %%, adapted %.1f %%; %ld of %ld samples learnt from\n",
      100.0 * frozen / total, 100.0 * adapted / total, admitted, total);
} catch (const sotta::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
