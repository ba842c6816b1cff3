#include "nn/random_tensor.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

using testing::expect_same_bits_at_any_thread_count;

// More than one task, and not a multiple of one.
constexpr int64_t kCount = 3 * 7 * 1000 + 5;

template <class Draw>
void expect_sequential(const at::Tensor& found, Rng rng, Draw draw) {
  const auto values = found.accessor<float, 1>();
  for (int64_t i = 0; i < found.numel(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(draw(rng))) << "element " << i;
}

TEST(RandomTensor, UniformEqualsSequentialDraws) {
  Rng rng(5);
  rng.next();
  const Rng start = rng;
  expect_sequential(random_uniform(rng, {kCount}), start,
                    [](Rng& stream) { return stream.uniform(); });
}

TEST(RandomTensor, NormalEqualsSequentialDraws) {
  Rng rng(5);
  rng.next();
  const Rng start = rng;
  expect_sequential(random_normal(rng, {kCount}), start,
                    [](Rng& stream) { return stream.normal(); });
}

TEST(RandomTensor, StreamGoesOnBehindTheTensor) {
  Rng tensors(5), single(5);
  random_uniform(tensors, {2, 3});
  random_normal(tensors, {4});
  random_below(tensors, {5}, 0.5);
  for (int i = 0; i < 6 + 2 * 4 + 5; ++i)
    single.next();
  EXPECT_EQ(tensors.next(), single.next());
}

TEST(RandomTensor, ElementsComeInRowMajorOrder) {
  Rng a(5), b(5);
  EXPECT_TRUE(
      random_normal(a, {2, 3, 4}).view(-1).equal(random_normal(b, {24})));
}

TEST(RandomTensor, EmptyShapeDrawsNothing) {
  Rng rng(5);
  EXPECT_EQ(random_normal(rng, {0, 3}).numel(), 0);
  EXPECT_EQ(rng.state().counter, 0u);
}

TEST(RandomTensor, BelowIsDecidedInDouble) {
  // The probability is the draw itself: not below it, whichever way a float
  // would round.
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const double draw = Rng(seed).uniform();
    Rng rng(seed), again(seed);
    EXPECT_FALSE(random_below(rng, {1}, draw).item<bool>());
    EXPECT_TRUE(random_below(again, {1}, std::nextafter(draw, 1)).item<bool>());
  }
}

TEST(RandomTensor, BelowIsTrueWithItsProbability) {
  Rng rng(1);
  const at::Tensor mask = random_below(rng, {100000}, 0.01);
  EXPECT_EQ(mask.scalar_type(), at::kBool);
  // Standard deviation: sqrt(100000 * 0.01 * 0.99) = 31.
  EXPECT_NEAR(mask.sum().item<double>(), 1000, 4 * 31);
}

TEST(RandomTensor, SameBitsAtAnyThreadCount) {
  expect_same_bits_at_any_thread_count([] {
    Rng rng(3);
    return random_normal(rng, {kCount});
  });
  expect_same_bits_at_any_thread_count([] {
    Rng rng(3);
    return random_uniform(rng, {kCount});
  });
  expect_same_bits_at_any_thread_count([] {
    Rng rng(3);
    return random_below(rng, {kCount}, 0.3);
  });
}

TEST(RandomTensor, EqualsPythonsStreams) {
  const testing::Golden golden("nn/rng");
  Rng normals = Rng(7).child("c"), uniforms = Rng(7).child("b");
  // Python's logarithm and cosine may round the last bit of a double otherwise.
  EXPECT_TRUE(testing::close(random_normal(normals, {20}),
                             golden["child_c.normal"], 1e-9, 1e-6));
  const at::Tensor expected =
      golden["child_b.uniform_times_2_53"].to(at::kDouble).mul(0x1p-53);
  EXPECT_TRUE(random_uniform(uniforms, {20}).equal(expected.to(at::kFloat)));
}

}  // namespace
}  // namespace sotta
