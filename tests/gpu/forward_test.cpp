#include <gtest/gtest.h>

#include "sotta/models/weights.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

class GpuForward : public testing::OnGpu {
 protected:
  static std::unique_ptr<Classifier> network(
      at::Device device, Precision precision = Precision::kFloat32) {
    LoadOptions options;
    options.device = device;
    options.precision = precision;
    return make_classifier(testing::Golden("methods/network").file(), options,
                           "network");
  }
  const at::Tensor images =
      testing::Golden("methods/stream")["images"].narrow(0, 0, 16);
};

TEST_F(GpuForward, LogitsAndStatisticsAreTheCpus) {
  const auto on_cpu = network(at::kCPU), on_gpu = network(gpu);
  for (const NormStats stats :
       {NormStats::running(), NormStats::batch(), NormStats::blended(0.05)}) {
    const auto wanted = on_cpu->forward(images, on_cpu->source(), stats);
    const auto found = on_gpu->forward(images.to(gpu), on_gpu->source(), stats);
    EXPECT_TRUE(testing::close(found.logits.cpu(), wanted.logits, 1e-4));
    EXPECT_TRUE(testing::close(found.features.cpu(), wanted.features, 1e-4));
    if (!wanted.batch_mean.defined()) continue;
    EXPECT_TRUE(
        testing::close(found.batch_mean.cpu(), wanted.batch_mean, 1e-4));
    EXPECT_TRUE(testing::close(found.batch_var.cpu(), wanted.batch_var, 1e-4));
  }
}

TEST_F(GpuForward, CoarserPrecisionsStayNear) {
  const auto exact = network(at::kCPU);
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16})
    for (const NormStats stats :
         {NormStats::running(), NormStats::batch(), NormStats::blended(0.05)}) {
      const auto coarse = network(gpu, precision);
      const auto wanted = exact->forward(images, exact->source(), stats);
      const auto found =
          coarse->forward(images.to(gpu), coarse->source(), stats);
      EXPECT_TRUE(testing::close(found.logits.cpu(), wanted.logits, 0.1, 0.1))
          << to_text(precision);
    }
}

TEST_F(GpuForward, GradientsAreTheCpus) {
  const auto gradient = [&](const Classifier& model, at::Device device) {
    ModelState state = model.source().clone_norm();
    state.affine = as_leaf(state.affine);
    const auto result =
        model.forward(images.to(device), state, NormStats::batch());
    return gradient_of(entropy(result.logits).mean(), state.affine).cpu();
  };
  const auto on_cpu = network(at::kCPU), on_gpu = network(gpu);
  EXPECT_TRUE(testing::close(gradient(*on_gpu, gpu),
                             gradient(*on_cpu, at::kCPU), 1e-4, 1e-3));
}

}  // namespace
}  // namespace sotta
