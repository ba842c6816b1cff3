#include "gpu/kernels/logit_rows.h"

#include <limits>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "sotta/adapt/prediction.h"
#include "sotta/core/error.h"
#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"
#include "sotta/nn/losses.h"

#include "nn/random_tensor.h"
#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

struct Case {
  int64_t samples, classes;
  double scale;  // of the logits
};

// Fewer classes than a warp has lanes, as many and more; more rows than a block
// takes; probabilities of 0 and 1.
const Case kCases[] = {{1, 2, 1},    {3, 1, 1},     {64, 10, 1},  {5, 32, 1},
                       {130, 33, 1}, {7, 1000, 1},  {64, 10, 30}, {7, 1000, 30},
                       {4, 10, 1e3}, {300, 100, 5}, {2, 5000, 1}};

at::Tensor draw(const Case& drawn) {
  Rng rng(1);
  return random_normal(rng, {drawn.samples, drawn.classes}) * drawn.scale;
}

class GpuLogits : public testing::OnGpu {
 protected:
  void SetUp() override {
    testing::OnGpu::SetUp();
    if (IsSkipped()) return;
    if (!has_logit_rows(draw({1, 2, 1}).to(gpu)))
      GTEST_SKIP() << "built without kernels";
  }

  // The CPU has only separate operations.
  void expect_predictions_of_the_cpu(const at::Tensor& logits) const {
    const Prediction found = classify(logits.to(gpu)),
                     wanted = classify(logits);
    EXPECT_TRUE(found.labels.equal(wanted.labels));
    EXPECT_TRUE(testing::close(found.confidences, wanted.confidences, 1e-6));
    EXPECT_TRUE(testing::close(found.entropies, wanted.entropies, 2e-6));
  }
};

TEST_F(GpuLogits, ArePredictionsAsOnTheCpu) {
  for (const Case& drawn : kCases) {
    SCOPED_TRACE(::testing::Message()
                 << drawn.samples << " x " << drawn.classes);
    expect_predictions_of_the_cpu(draw(drawn));
  }
}

TEST_F(GpuLogits, PredictTheFirstOfEqualClasses) {
  const at::Tensor logits = draw({3, 70, 1});
  logits[0].fill_(1);
  logits[1][66] = logits[1][34] = logits[1][40] = 9;
  logits[2][69] = logits[2][2] = 9;
  expect_predictions_of_the_cpu(logits);
}

TEST_F(GpuLogits, PredictWithoutImpossibleClasses) {
  const at::Tensor logits = draw({2, 10, 1});
  logits.narrow(1, 0, 4).fill_(-std::numeric_limits<double>::infinity());
  expect_predictions_of_the_cpu(logits);
}

TEST_F(GpuLogits, SayNothingWhereTheyAreNoNumbers) {
  const double infinity = std::numeric_limits<double>::infinity();
  const at::Tensor logits = draw({4, 40, 1});
  logits[0][37] = std::numeric_limits<double>::quiet_NaN();
  logits[1][5] = infinity;
  logits[2].fill_(-infinity);

  const Prediction found = classify(logits.to(gpu)), wanted = classify(logits);

  EXPECT_TRUE(found.confidences.isnan().equal(wanted.confidences.isnan()));
  EXPECT_TRUE(found.entropies.isnan().equal(wanted.entropies.isnan()));
  EXPECT_TRUE(found.labels.equal(wanted.labels));
  EXPECT_FALSE(found.confidences[3].isnan().item<bool>());
}

// As autograd finds them on the CPU; with what comes after scaling them.
TEST_F(GpuLogits, HaveTheMeanEntropyAndItsGradient) {
  for (const Case& drawn : kCases) {
    SCOPED_TRACE(::testing::Message()
                 << drawn.samples << " x " << drawn.classes);
    const at::Tensor here = as_leaf(draw(drawn));
    const at::Tensor there = as_leaf(draw(drawn).to(gpu));
    const at::Tensor wanted = entropy(here).mean();
    const at::Tensor found = mean_entropy(there);

    EXPECT_EQ(found.dim(), 0);
    EXPECT_TRUE(
        testing::close(found.detach().cpu(), wanted.detach(), 2e-6, 1e-6));
    EXPECT_TRUE(testing::close(gradient_of(found * -7, there).cpu(),
                               gradient_of(wanted * -7, here), 1e-6, 1e-4));
  }
}

TEST_F(GpuLogits, HaveTheSameMeanEntropyWithoutAGraph) {
  const at::Tensor logits = draw({64, 10, 1}).to(gpu);
  EXPECT_TRUE(
      mean_entropy(logits).equal(mean_entropy(as_leaf(logits)).detach()));
}

TEST_F(GpuLogits, HaveAGradientAsOftenAsItIsAskedFor) {
  const at::Tensor logits = as_leaf(draw({64, 10, 1}).to(gpu));
  const at::Tensor mean = mean_entropy(logits);
  const auto back = [&](bool create_graph) {
    return torch::autograd::grad({mean}, {logits}, {}, /*retain_graph=*/true,
                                 create_graph)[0];
  };

  EXPECT_TRUE(back(false).equal(back(false)));
  EXPECT_THROW(back(/*create_graph=*/true), Error);
}

}  // namespace
}  // namespace sotta
