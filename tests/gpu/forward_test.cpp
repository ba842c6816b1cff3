#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "sotta/models/weights.h"
#include "sotta/nn/convolution.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"
#include "sotta/nn/pixels.h"
#include "sotta/nn/precision.h"

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
  static at::Tensor gradient(const Classifier& model, const at::Tensor& input) {
    ModelState state = model.source().clone_norm();
    state.affine = as_leaf(state.affine);
    const auto result = model.forward(input, state, NormStats::batch());
    return gradient_of(entropy(result.logits).mean(), state.affine).cpu();
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

TEST_F(GpuForward, ABatchFilledUpForConvolutionsGivesTheSame) {
  const auto on_cpu = network(at::kCPU);
  const auto wanted =
      on_cpu->forward(images, on_cpu->source(), NormStats::batch());
  const at::Tensor wanted_gradient = gradient(*on_cpu, images);
  const LeastBatch filled_up(24);
  for (const Precision layout : {Precision::kFloat32, Precision::kTf32}) {
    const auto on_gpu = network(gpu, layout);
    use_precision(Precision::kFloat32, gpu);
    const auto found =
        on_gpu->forward(images.to(gpu), on_gpu->source(), NormStats::batch());
    EXPECT_TRUE(testing::close(found.logits.cpu(), wanted.logits, 1e-4));
    EXPECT_TRUE(testing::close(found.batch_var.cpu(), wanted.batch_var, 1e-4));
    EXPECT_TRUE(testing::close(gradient(*on_gpu, images.to(gpu)),
                               wanted_gradient, 1e-4, 1e-3));
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
  const auto on_cpu = network(at::kCPU), on_gpu = network(gpu);
  EXPECT_TRUE(testing::close(gradient(*on_gpu, images.to(gpu)),
                             gradient(*on_cpu, images), 1e-4, 1e-3));
}

// Channels last, a wider stem and own norm layers, without the rounding that
// they come with.
TEST_F(GpuForward, LayoutOfCoarserPrecisionsChangesNothing) {
  const auto on_cpu = network(at::kCPU),
             on_gpu = network(gpu, Precision::kTf32);
  use_precision(Precision::kFloat32, gpu);
  const auto logits = [&](const Classifier& model, const at::Tensor& input) {
    return model.forward(input, model.source(), NormStats::running())
        .logits.cpu();
  };
  EXPECT_TRUE(testing::close(logits(*on_gpu, images.to(gpu)),
                             logits(*on_cpu, images), 1e-4));
  EXPECT_TRUE(testing::close(gradient(*on_gpu, images.to(gpu)),
                             gradient(*on_cpu, images), 1e-4, 1e-3));
}

TEST_F(GpuForward, PixelRowsAreTheNormalisedBytes) {
  const at::Tensor bytes = images.to(gpu);
  const int64_t channels = bytes.size(1);
  const at::Tensor mean = at::full({1, channels, 1, 1}, 0.4,
                                   at::TensorOptions(gpu).dtype(at::kFloat));
  const at::Tensor std = mean * 0.5;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    if (!has_pixel_rows(bytes, type)) GTEST_SKIP() << "built without kernels";
    const at::Tensor rows = pixel_rows(bytes, mean, std, type);
    EXPECT_EQ(rows.size(1), pixel_row_width(type));
    EXPECT_TRUE(rows.narrow(1, 0, channels)
                    .equal((as_floats(bytes) - mean).div(std).to(type)));
    EXPECT_EQ(rows.narrow(1, channels, rows.size(1) - channels)
                  .abs()
                  .sum()
                  .item<float>(),
              0);
  }
}

}  // namespace
}  // namespace sotta
