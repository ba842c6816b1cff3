#include "nn/batch_norm.h"

#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/gradient_check.h"

namespace sotta {
namespace {

at::Tensor vector_of(std::initializer_list<double> values) {
  return at::tensor(std::vector<double>(values), at::kDouble);
}

// One channel holding 1, 2, 3, 4: mean 2.5, biased variance 1.25, unbiased 5/3.
at::Tensor one_to_four() {
  return at::arange(1, 5, at::kDouble).view({2, 1, 1, 2});
}

NormVectors one_channel() {
  return {vector_of({2}), vector_of({1}), vector_of({1}),
          vector_of({4}), vector_of({0}), vector_of({0})};
}

TEST(BatchNorm, RunningStatisticsNormaliseEachSampleAlone) {
  const at::Tensor output =
      batch_norm(one_to_four(), one_channel(), NormStats::running());

  // 2 * (3 - 1) / sqrt(4 + eps) + 1
  EXPECT_NEAR(output.view(-1)[2].item<double>(),
              2 * 2 / std::sqrt(4 + kNormEpsilon) + 1, 1e-12);
}

TEST(BatchNorm, RunningStatisticsGiveTheBitsOfPyTorchOnACpu) {
  const at::Tensor input = at::randn({3, 5, 7, 6});
  const NormVectors vectors = {at::randn({5}), at::randn({5}),
                               at::randn({5}), at::rand({5}) + 0.5,
                               at::zeros({5}), at::zeros({5})};
  EXPECT_TRUE(batch_norm(input, vectors, NormStats::running())
                  .equal(at::batch_norm(
                      input, vectors.scale, vectors.shift, vectors.running_mean,
                      vectors.running_var, /*training=*/false, /*momentum=*/0,
                      kNormEpsilon, /*cudnn_enabled=*/true)));
}

TEST(BatchNorm, RunningStatisticsAreLeftAlone) {
  const NormVectors vectors = one_channel();
  batch_norm(one_to_four(), vectors, NormStats::running());
  EXPECT_EQ(vectors.running_mean.item<double>(), 1);
  EXPECT_EQ(vectors.running_var.item<double>(), 4);
  EXPECT_EQ(vectors.batch_mean.item<double>(), 0);
}

TEST(BatchNorm, BatchStatisticsNormaliseByTheBiasedVariance) {
  const at::Tensor output =
      batch_norm(one_to_four(), one_channel(), NormStats::batch());

  EXPECT_NEAR(output.view(-1)[3].item<double>(),
              2 * 1.5 / std::sqrt(1.25 + kNormEpsilon) + 1, 1e-12);
}

TEST(BatchNorm, BatchStatisticsComeOutUnbiasedAndRunningOnesStay) {
  const NormVectors vectors = one_channel();
  batch_norm(one_to_four(), vectors, NormStats::batch());
  EXPECT_NEAR(vectors.batch_mean.item<double>(), 2.5, 1e-12);
  EXPECT_NEAR(vectors.batch_var.item<double>(), 5.0 / 3, 1e-12);
  EXPECT_EQ(vectors.running_mean.item<double>(), 1);
  EXPECT_EQ(vectors.running_var.item<double>(), 4);
}

TEST(BatchNorm, SingleValueHasVarianceZeroNotInfinity) {
  const NormVectors vectors = one_channel();
  const at::Tensor output = batch_norm(at::full({1, 1, 1, 1}, 7.0, at::kDouble),
                                       vectors, NormStats::batch());
  EXPECT_NEAR(output.item<double>(), 1, 1e-12);
  EXPECT_EQ(vectors.batch_var.item<double>(), 0);
}

// The layers of a network write to slices of one vector, which autograd takes
// for one tensor.
TEST(BatchNorm, SingleValueLetsTheGradientsOfOtherLayersThrough) {
  const at::Tensor means = at::zeros({2}, at::kDouble);
  const at::Tensor vars = at::zeros({2}, at::kDouble);
  const auto layer = [&](int64_t i) {
    NormVectors vectors = one_channel();
    vectors.scale.requires_grad_(true);
    vectors.batch_mean = means.narrow(0, i, 1);
    vectors.batch_var = vars.narrow(0, i, 1);
    return vectors;
  };
  const NormVectors first = layer(0), second = layer(1);
  const at::Tensor between =
      batch_norm(one_to_four(), first, NormStats::batch());
  const at::Tensor output = batch_norm(between.narrow(0, 1, 1).narrow(3, 1, 1),
                                       second, NormStats::batch());

  EXPECT_NO_THROW((output.sum() + between.square().sum()).backward());

  EXPECT_GT(first.scale.grad().item<double>(), 0);
  EXPECT_EQ(vars[1].item<double>(), 0);
}

TEST(BatchNorm, BlendedStatisticsMixRunningAndBiasedBatch) {
  const NormVectors vectors = one_channel();
  const at::Tensor output =
      batch_norm(one_to_four(), vectors, NormStats::blended(0.2));

  const double mean = 0.8 * 1 + 0.2 * 2.5, var = 0.8 * 4 + 0.2 * 1.25;
  EXPECT_NEAR(vectors.batch_mean.item<double>(), mean, 1e-12);
  EXPECT_NEAR(vectors.batch_var.item<double>(), var, 1e-12);
  EXPECT_NEAR(output.view(-1)[0].item<double>(),
              2 * (1 - mean) / std::sqrt(var + kNormEpsilon) + 1, 1e-12);
}

TEST(BatchNorm, BlendingNothingIsRunningAndBlendingAllIsBatch) {
  const at::Tensor input = at::randn({3, 2, 4, 4}, at::kDouble);
  const NormVectors vectors = {vector_of({2, 1}),  vector_of({1, 0}),
                               vector_of({1, -1}), vector_of({4, 2}),
                               vector_of({0, 0}),  vector_of({0, 0})};
  EXPECT_TRUE(batch_norm(input, vectors, NormStats::blended(0))
                  .allclose(batch_norm(input, vectors, NormStats::running())));
  EXPECT_TRUE(batch_norm(input, vectors, NormStats::blended(1))
                  .allclose(batch_norm(input, vectors, NormStats::batch())));
}

// Statistics, output and gradient of [N, C, ...] are those of the same values
// as images of one column.
TEST(BatchNorm, TakesAnyNumberOfPositions) {
  const std::vector<std::vector<int64_t>> shapes = {
      {6, 3}, {4, 3, 5}, {2, 3, 4, 1, 2}};
  for (const auto& shape : shapes)
    for (const auto type : {at::kFloat, at::kDouble})
      for (const NormStats stats : {NormStats::running(), NormStats::batch(),
                                    NormStats::blended(0.3)}) {
        const at::Tensor input = at::randn(shape, type);
        const auto normalise = [&](const at::Tensor& values) {
          const at::Tensor scale =
              at::tensor({0.5, 1.0, 2.0}, type).requires_grad_();
          NormVectors vectors = {scale,
                                 at::tensor({1.0, 0.0, -1.0}, type),
                                 at::tensor({0.1, 0.2, 0.3}, type),
                                 at::tensor({1.0, 2.0, 3.0}, type),
                                 at::zeros({3}, type),
                                 at::zeros({3}, type)};
          const at::Tensor output = batch_norm(values, vectors, stats);
          const auto gradient =
              torch::autograd::grad({output.pow(3).sum()}, {scale})[0];
          return std::vector<at::Tensor>{output.detach().flatten(), gradient,
                                         vectors.batch_mean, vectors.batch_var};
        };
        const auto found = normalise(input);
        const auto wanted = normalise(input.reshape({shape[0], 3, -1, 1}));
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_TRUE(found[i].allclose(wanted[i], 1e-5, 1e-6)) << i;
        EXPECT_EQ(batch_norm(input,
                             {at::ones({3}, type), at::zeros({3}, type),
                              at::zeros({3}, type), at::ones({3}, type),
                              at::zeros({3}, type), at::zeros({3}, type)},
                             stats)
                      .sizes(),
                  input.sizes());
      }
}

TEST(BatchNorm, RefusesWhatHasNoChannels) {
  testing::expect_error(ErrorKind::kInvalid, "expected [N, C]", [] {
    batch_norm(at::zeros({3}), one_channel(), NormStats::running());
  });
}

TEST(BatchNorm, LeavesItsInputAlone) {
  const at::Tensor input = at::randn({2, 3, 4, 4});
  const at::Tensor before = input.clone();
  const at::Tensor scale = at::zeros({3}) + 2, space = at::zeros({3});
  const at::Tensor leaf = scale.clone().requires_grad_();
  const at::Tensor shared = input.clone().requires_grad_();
  for (const auto stats : {NormStats::running(), NormStats::batch()}) {
    batch_norm(input,
               {scale, space, space, scale, space.clone(), scale.clone()},
               stats);
    const at::Tensor output = batch_norm(
        shared, {leaf, space, space, scale, space.clone(), scale.clone()},
        stats);
    torch::autograd::grad({output.square().sum()}, {shared, leaf});
    EXPECT_TRUE(input.equal(before));
    EXPECT_TRUE(shared.equal(before));
  }
}

class BatchNormGradient : public ::testing::TestWithParam<NormStats> {};

TEST_P(BatchNormGradient, EqualsFiniteDifferences) {
  const at::Tensor weights = at::randn({2, 3, 2, 2}, at::kDouble);
  const auto loss = [&](const std::vector<at::Tensor>& inputs) {
    const NormVectors vectors = {inputs[1],
                                 inputs[2],
                                 vector_of({0.1, -0.2, 0.3}),
                                 vector_of({0.5, 1.5, 1}),
                                 at::zeros({3}, at::kDouble),
                                 at::zeros({3}, at::kDouble)};
    return (batch_norm(inputs[0], vectors, GetParam()) * weights).sum();
  };
  expect_gradients_match(
      loss, {at::randn({2, 3, 2, 2}, at::kDouble), at::randn({3}, at::kDouble),
             at::randn({3}, at::kDouble)});
}

INSTANTIATE_TEST_SUITE_P(AllSources, BatchNormGradient,
                         ::testing::Values(NormStats::running(),
                                           NormStats::batch(),
                                           NormStats::blended(0.05),
                                           NormStats::blended(0.6)));

class BatchNormGolden
    : public ::testing::TestWithParam<std::pair<const char*, NormStats>> {};

TEST_P(BatchNormGolden, EqualsPyTorch) {
  const auto [mode, stats] = GetParam();
  const testing::Golden golden("nn/batch_norm");
  const auto expected = [&, prefix = std::string(mode)](const char* name) {
    return golden[prefix + "." + name];
  };
  const at::Tensor input = golden["input"].requires_grad_();
  const NormVectors vectors = {golden["weight"].requires_grad_(),
                               golden["bias"].requires_grad_(),
                               golden["running_mean"],
                               golden["running_var"],
                               at::zeros({3}),
                               at::zeros({3})};

  const at::Tensor output = batch_norm(input, vectors, stats);
  const auto gradients =
      torch::autograd::grad({output}, {input, vectors.scale, vectors.shift},
                            {golden["output_gradient"]});

  EXPECT_TRUE(testing::close(output.detach(), expected("output")));
  EXPECT_TRUE(testing::close(gradients[0], expected("input_gradient")));
  EXPECT_TRUE(testing::close(gradients[1], expected("weight_gradient")));
  EXPECT_TRUE(testing::close(gradients[2], expected("bias_gradient")));
  if (stats.source == NormStats::Source::kRunning) return;
  EXPECT_TRUE(testing::close(vectors.batch_mean, expected("mean")));
  EXPECT_TRUE(testing::close(vectors.batch_var, expected("var")));
}

INSTANTIATE_TEST_SUITE_P(
    AllSources, BatchNormGolden,
    ::testing::Values(std::make_pair("running", NormStats::running()),
                      std::make_pair("batch", NormStats::batch()),
                      std::make_pair("blended", NormStats::blended(0.05))));

}  // namespace
}  // namespace sotta
