// The shortest program that adapts: 0_adapt models/fashion_resnet8.safetensors
#include <cstdio>

#include <ATen/ops/randint.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/engine/open_model.h"

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: %s WEIGHTS\n", argv[0]), 2;
  sotta::MethodContext context;
  context.model = sotta::open_model(argv[1]);
  const auto adapter = sotta::make_adapter("sotta", context);
  for (int window = 0; window < 4; ++window) {
    // A camera's next 64 images, [N, C, H, W] in bytes; here they are noise.
    const auto images = at::randint(256, {64, 1, 28, 28}, at::kByte);
    const sotta::StepResult result = adapter->step(images);
    std::printf("class %ld, %s\n", result.prediction.labels[0].item<long>(),
                sotta::to_text(result.verdicts[0]));
  }
} catch (const sotta::Error& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
