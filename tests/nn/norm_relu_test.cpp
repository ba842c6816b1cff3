#include "nn/norm_relu.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"

#include "nn/random_tensor.h"
#include "tests/support/golden.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

constexpr int64_t kChannels = 5;

at::Tensor draw(at::IntArrayRef shape, uint64_t seed) {
  Rng rng(seed);
  return random_normal(rng, shape);
}

// A norm layer with everything it needs, and a way to run it.
struct Layer {
  // Planes of 9 x 33: more than a block, and not a multiple of a vector.
  at::Tensor input = draw({6, kChannels, 9, 33}, 1) + 0.5;
  at::Tensor residual = draw({6, kChannels, 9, 33}, 2);
  at::Tensor scale = draw({kChannels}, 3);
  at::Tensor shift = draw({kChannels}, 4);
  at::Tensor running_mean = draw({kChannels}, 5);
  at::Tensor running_var = draw({kChannels}, 6).square() + 0.5;
  at::Tensor batch_mean = at::zeros({kChannels});
  at::Tensor batch_var = at::zeros({kChannels});

  NormVectors vectors() const {
    return {scale, shift, running_mean, running_var, batch_mean, batch_var};
  }

  Layer to(at::ScalarType type) const {
    const auto leaf = [type](const at::Tensor& values) {
      return as_leaf(values.to(type, false, /*copy=*/true));
    };
    const auto plain = [type](const at::Tensor& values) {
      return values.to(type, false, /*copy=*/true);
    };
    return {leaf(input),       leaf(residual),      leaf(scale),
            leaf(shift),       plain(running_mean), plain(running_var),
            plain(batch_mean), plain(batch_var)};
  }
};

// A convolution's output is no leaf, and used up.
at::Tensor run(const Layer& layer, NormStats stats, bool add, bool relu) {
  return norm_relu(layer.input.mul(1), layer.vectors(), stats,
                   {add ? layer.residual : at::Tensor(), relu});
}

std::vector<at::Tensor> gradients(const Layer& layer, const at::Tensor& output,
                                  bool add) {
  std::vector<at::Tensor> leaves = {layer.input, layer.scale, layer.shift};
  if (add) leaves.push_back(layer.residual);
  const at::Tensor weights = draw(output.sizes(), 7);
  return torch::autograd::grad({output}, leaves,
                               {weights.to(output.scalar_type())});
}

class NormReluKinds
    : public ::testing::TestWithParam<std::tuple<NormStats, bool, bool>> {};

// Doubles take the operations one by one, floats the fused loops.
TEST_P(NormReluKinds, EqualsTheOperationsOneByOneInDoublePrecision) {
  const auto& [stats, add, relu] = GetParam();
  const Layer exact = Layer().to(at::kDouble), fused = Layer().to(at::kFloat);
  const at::Tensor expected = run(exact, stats, add, relu);
  const at::Tensor found = run(fused, stats, add, relu);

  EXPECT_TRUE(testing::close(found.detach().to(at::kDouble), expected.detach(),
                             1e-5, 1e-5));
  EXPECT_TRUE(testing::close(fused.batch_mean.to(at::kDouble), exact.batch_mean,
                             1e-6, 1e-5));
  EXPECT_TRUE(testing::close(fused.batch_var.to(at::kDouble), exact.batch_var,
                             1e-6, 1e-5));
  const auto expected_gradients = gradients(exact, expected, add);
  const auto found_gradients = gradients(fused, found, add);
  for (size_t i = 0; i < expected_gradients.size(); ++i)
    EXPECT_TRUE(testing::close(found_gradients[i].to(at::kDouble),
                               expected_gradients[i], 2e-5, 1e-4))
        << "gradient " << i;
}

TEST_P(NormReluKinds, AddsTheGradientsOfTwoReaders) {
  const auto& [stats, add, relu] = GetParam();
  const Layer layer = Layer().to(at::kFloat);
  const Fork fork =
      forked_norm_relu(layer.input.mul(1), layer.vectors(), stats,
                       {add ? layer.residual : at::Tensor(), relu});
  EXPECT_TRUE(fork.shortcut.equal(fork.path));
  const at::Tensor one = draw(fork.path.sizes(), 8),
                   other = draw(fork.path.sizes(), 7) - one;
  const std::vector<at::Tensor> leaves = {layer.input, layer.scale,
                                          layer.shift};
  const auto found =
      torch::autograd::grad({fork.path, fork.shortcut}, leaves, {one, other});
  const auto expected = torch::autograd::grad({run(layer, stats, add, relu)},
                                              leaves, {one + other});
  for (size_t i = 0; i < leaves.size(); ++i)
    EXPECT_TRUE(found[i].equal(expected[i])) << "gradient " << i;

  // The second reader alone.
  const Fork again =
      forked_norm_relu(layer.input.mul(1), layer.vectors(), stats,
                       {add ? layer.residual : at::Tensor(), relu});
  const auto alone =
      torch::autograd::grad({again.shortcut}, leaves, {one + other});
  for (size_t i = 0; i < leaves.size(); ++i)
    EXPECT_TRUE(alone[i].equal(expected[i])) << "gradient " << i;
}

// Its reader sends nothing back.
struct NoGradient : torch::autograd::Function<NoGradient> {
  static at::Tensor forward(torch::autograd::AutogradContext*,
                            const at::Tensor& input) {
    return input.mul(2);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext*,
      const torch::autograd::variable_list&) {
    return {at::Tensor()};
  }
};

TEST(NormRelu, SendsNothingBackIfNothingComes) {
  const Layer layer = Layer().to(at::kFloat);
  const at::Tensor output =
      NoGradient::apply(run(layer, NormStats::batch(), true, true));
  const auto found = torch::autograd::grad(
      {output.sum()}, {layer.input, layer.scale}, /*grad_outputs=*/{},
      /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  EXPECT_FALSE(found[0].defined());
  EXPECT_FALSE(found[1].defined());
}

TEST_P(NormReluKinds, GivesTheSameBitsWithoutAGraph) {
  const auto& [stats, add, relu] = GetParam();
  const Layer layer = Layer().to(at::kFloat);
  const at::Tensor expected = run(layer, stats, add, relu);
  const at::NoGradGuard no_gradients;
  EXPECT_TRUE(run(layer, stats, add, relu).equal(expected));
}

INSTANTIATE_TEST_SUITE_P(
    All, NormReluKinds,
    ::testing::Combine(::testing::Values(NormStats::running(),
                                         NormStats::batch(),
                                         NormStats::blended(0.05),
                                         NormStats::blended(0.6)),
                       ::testing::Bool(), ::testing::Bool()));

TEST(NormRelu, ByHand) {
  // Mean 2, variance 4, scale 2, shift 1: 0, 2, 4 become -1, 1, 3 within 1e-5.
  const NormVectors vectors = {at::full({1}, 2.f),
                               at::full({1}, 1.f),
                               at::full({1}, 2.f),
                               at::full({1}, 4.f),
                               {},
                               {}};
  const auto input = [] {
    return at::tensor({0.f, 2.f, 4.f}).view({1, 1, 1, 3});
  };
  const at::Tensor plain = norm_relu(input(), vectors, NormStats::running());
  EXPECT_TRUE(plain.flatten().allclose(at::tensor({0.f, 1.f, 3.f}), 0, 1e-4));
  const at::Tensor added = norm_relu(input(), vectors, NormStats::running(),
                                     {at::full({1, 1, 1, 3}, -2.f)});
  EXPECT_TRUE(added.flatten().allclose(at::tensor({0.f, 0.f, 1.f}), 0, 1e-4));
}

TEST(NormRelu, ASingleValueHasVarianceZero) {
  const NormVectors vectors = {at::full({1}, 2.f), at::full({1}, 3.f),
                               at::zeros({1}),     at::zeros({1}),
                               at::zeros({1}),     at::full({1}, 9.f)};
  const at::Tensor output =
      norm_relu(at::full({1, 1, 1, 1}, 7.f), vectors, NormStats::batch());
  EXPECT_EQ(output.item<float>(), 3);
  EXPECT_EQ(vectors.batch_mean.item<float>(), 7);
  EXPECT_EQ(vectors.batch_var.item<float>(), 0);
}

// A broken network must be seen to be broken: guards look for it.
TEST(NormRelu, LetsNanThrough) {
  Layer layer;
  layer.input.view(-1)[0] = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor output = run(layer, NormStats::running(), true, true);
  EXPECT_TRUE(std::isnan(output.view(-1)[0].item<float>()));
  EXPECT_FALSE(std::isnan(output.view(-1)[1].item<float>()));
}

TEST(NormRelu, SameBitsAtAnyThreadCount) {
  for (const auto stats : {NormStats::running(), NormStats::batch()})
    testing::expect_same_bits_at_any_thread_count([stats] {
      const Layer layer = Layer().to(at::kFloat);
      const at::Tensor output = run(layer, stats, true, true);
      std::vector<at::Tensor> all = {output.detach().flatten()};
      for (const auto& gradient : gradients(layer, output, true))
        all.push_back(gradient.flatten());
      return at::cat(all);
    });
}

TEST(NormRelu, TakesLayoutsThatAreNotPlain) {
  const Layer layer;
  const at::Tensor expected = run(layer, NormStats::batch(), true, true);
  const at::Tensor turned =
      layer.input.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(testing::close(
      norm_relu(turned, layer.vectors(), NormStats::batch(), {layer.residual}),
      expected, 1e-5, 1e-5));
  const at::Tensor turned_residual =
      layer.residual.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(norm_relu(layer.input.clone(), layer.vectors(),
                        NormStats::batch(), {turned_residual})
                  .equal(expected));
}

TEST(NormRelu, KeepsNeitherItsOutputNorItsResidual) {
  const Layer layer = Layer().to(at::kFloat);
  at::Tensor residual = layer.residual.mul(1);
  at::Tensor output = norm_relu(layer.input.mul(1), layer.vectors(),
                                NormStats::batch(), {residual});
  const at::Tensor sum = output.sum();
  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl>;
  const Weak weak_residual(residual.getIntrusivePtr());
  const Weak weak_output(output.getIntrusivePtr());
  residual.reset();
  output.reset();
  EXPECT_TRUE(weak_residual.expired());
  EXPECT_TRUE(weak_output.expired());
  EXPECT_GT(gradient_of(sum, layer.residual).abs().sum().item<float>(), 0);
}

TEST(NormRelu, RefusesSizesThatDoNotFit) {
  Layer layer;
  EXPECT_THROW(norm_relu(layer.input, layer.vectors(), NormStats::batch(),
                         {layer.residual.narrow(0, 0, 1)}),
               Error);
  layer.shift = at::zeros({kChannels - 1});
  EXPECT_THROW(norm_relu(layer.input, layer.vectors(), NormStats::batch()),
               Error);
}

TEST(NormRelu, RunsBackOnceOnly) {
  const Layer layer = Layer().to(at::kFloat);
  const at::Tensor output = run(layer, NormStats::batch(), true, true).sum();
  const auto back = [&](bool create_graph) {
    torch::autograd::grad({output}, {layer.input}, {}, /*retain_graph=*/true,
                          create_graph);
  };
  EXPECT_THROW(back(true), Error);
  back(false);
  EXPECT_THROW(back(false), c10::Error);
}

}  // namespace
}  // namespace sotta
