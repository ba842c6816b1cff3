#include "nn/convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "sotta/core/rng.h"
#include "sotta/nn/gradient.h"

#include "nn/random_tensor.h"
#include "tests/support/gradient_check.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

at::Tensor draw(at::IntArrayRef shape, uint64_t seed) {
  Rng rng(seed);
  return random_normal(rng, shape);
}

// The 2x2 corners of a 3x3 image, each summed by a kernel of ones; the centre
// pixel is seen by all four positions.
TEST(Convolution, ByHand) {
  const at::Tensor image = at::arange(1, 10, at::kFloat).view({1, 1, 3, 3});
  const at::Tensor kernel = as_leaf(at::ones({1, 1, 2, 2}));
  const at::Tensor output = convolution(image, kernel, 1, 0);
  EXPECT_EQ(output.sum().item<float>(), 12 + 16 + 24 + 28);
  // Each weight's gradient is the sum of the pixels it has met.
  const at::Tensor gradient = gradient_of(output.sum(), kernel);
  EXPECT_EQ(gradient.view(-1)[0].item<float>(), 1 + 2 + 4 + 5);
  EXPECT_EQ(gradient.view(-1)[3].item<float>(), 5 + 6 + 8 + 9);
}

TEST(Convolution, GradientsMatchDifferences) {
  for (const int64_t stride : {1, 2})
    for (const int64_t padding : {0, 1})
      expect_gradients_match(
          [&](const std::vector<at::Tensor>& inputs) {
            return convolution(inputs[0], inputs[1], stride, padding)
                .square()
                .sum();
          },
          {draw({2, 2, 5, 5}, 1).to(at::kDouble),
           draw({3, 2, 3, 3}, 2).to(at::kDouble)},
          1e-5);
}

TEST(Convolution, ChannelsLastMemoryGivesTheSameGradients) {
  const auto gradients = [](at::MemoryFormat layout) {
    const at::Tensor input = as_leaf(draw({2, 3, 6, 6}, 1).contiguous(layout));
    const at::Tensor weight = as_leaf(draw({4, 3, 3, 3}, 2).contiguous(layout));
    const at::Tensor output = convolution(input, weight, 2, 1);
    return gradients_of(output.square().sum(), {input, weight});
  };
  const auto expected = gradients(at::MemoryFormat::Contiguous);
  const auto found = gradients(at::MemoryFormat::ChannelsLast);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_LT((found[i] - expected[i]).abs().max().item<float>(), 1e-4) << i;
}

TEST(Convolution, GivesTheWeightAGradientWhenTheInputNeedsNone) {
  const at::Tensor weight = as_leaf(draw({3, 2, 1, 1}, 2));
  const at::Tensor output = convolution(draw({2, 2, 4, 4}, 1), weight, 2, 0);
  EXPECT_GT(gradient_of(output.sum(), weight).abs().sum().item<float>(), 0);
}

// On a CPU: values are kept in bfloat16 and multiplied in float32.
TEST(Convolution, Bfloat16IsFloat32OfRoundedValuesRounded) {
  const auto rounded = [](const at::Tensor& values) {
    return values.to(at::kBFloat16);
  };
  const at::Tensor input = as_leaf(rounded(draw({2, 3, 6, 6}, 1)));
  const at::Tensor weight = as_leaf(rounded(draw({4, 3, 3, 3}, 2)));
  const at::Tensor output = convolution(input, weight, 1, 1);
  const auto gradients =
      gradients_of(output.to(at::kFloat).sum(), {input, weight});

  const at::Tensor exact_input = as_leaf(input.detach().to(at::kFloat));
  const at::Tensor exact_weight = as_leaf(weight.detach().to(at::kFloat));
  const at::Tensor exact = convolution(exact_input, exact_weight, 1, 1);
  const auto exact_gradients =
      gradients_of(exact.sum(), {exact_input, exact_weight});
  EXPECT_EQ(output.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(output.equal(rounded(exact)));
  for (size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(gradients[i].equal(rounded(exact_gradients[i]))) << i;
}

TEST(Convolution, WeightGradientHasTheSameBitsAtAnyThreadCount) {
  const at::Tensor input = draw({16, 4, 16, 16}, 1);
  const at::Tensor weight = draw({6, 4, 3, 3}, 2);
  testing::expect_same_bits_at_any_thread_count([&] {
    const at::Tensor leaf = as_leaf(weight);
    return gradient_of(convolution(input, leaf, 1, 1).square().sum(), leaf);
  });
}

TEST(Convolution, IsThePlainOneForFixedWeights) {
  const at::Tensor input = as_leaf(draw({2, 4, 8, 8}, 1));
  const at::Tensor weight = draw({6, 4, 3, 3}, 2);
  const at::Tensor output = convolution(input, weight, 2, 1);
  const at::Tensor plain = at::conv2d(input, weight, {}, 2, 1);
  EXPECT_TRUE(output.equal(plain));
  EXPECT_TRUE(gradient_of(output.square().sum(), input)
                  .equal(gradient_of(plain.square().sum(), input)));
}

TEST(Convolution, KeepsNoInputForFixedWeights) {
  const at::Tensor leaf = as_leaf(draw({2, 4, 8, 8}, 1));
  at::Tensor input = leaf.mul(2);
  const at::Tensor sum = convolution(input, draw({6, 4, 3, 3}, 2), 1, 1).sum();
  const c10::weak_intrusive_ptr<c10::TensorImpl> weak(input.getIntrusivePtr());
  input.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_GT(gradient_of(sum, leaf).abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace sotta
