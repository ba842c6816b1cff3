#include "stream/noise_dataset.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;

NoiseDataset noise(uint64_t seed = 0) {
  return NoiseDataset(Rng(seed), {3, 32, 32}, int64_t{1} << 40);
}

TEST(NoiseDataset, EveryByteIsEquallyLikely) {
  const at::Tensor images = noise().range(0, 200).images;

  const at::Tensor counts = images.flatten().bincount({}, 256).to(at::kDouble);
  const double expected = 200.0 * 3072 / 256;  // 2400
  const double chi_squared =
      (counts - expected).square().div(expected).sum().item<double>();
  // 255 degrees of freedom: mean 255, standard deviation 22.6.
  EXPECT_EQ(counts.size(0), 256);
  EXPECT_NEAR(chi_squared, 255, 5 * 22.6);
}

TEST(NoiseDataset, NeighbouringPixelsAndImagesAreUncorrelated) {
  const at::Tensor images =
      noise().range(0, 200).images.to(at::kDouble).sub(127.5).div(73.9);
  const auto correlation = [](const at::Tensor& a, const at::Tensor& b) {
    return a.mul(b).mean().item<double>();
  };

  // Standard deviation 0.0013.
  EXPECT_NEAR(correlation(images.slice(3, 1), images.slice(3, 0, 31)), 0,
              0.007);
  EXPECT_NEAR(correlation(images.slice(2, 1), images.slice(2, 0, 31)), 0,
              0.007);
  EXPECT_NEAR(correlation(images.slice(1, 1), images.slice(1, 0, 2)), 0, 0.007);
  EXPECT_NEAR(correlation(images.slice(0, 1), images.slice(0, 0, 199)), 0,
              0.007);
}

TEST(NoiseDataset, AnImageDependsOnItsIndexAlone) {
  const at::Tensor together = noise().get({5, 1000000007, 5}).images;

  EXPECT_TRUE(together[0].equal(noise().get({5}).images[0]));
  EXPECT_TRUE(together[1].equal(noise().get({1000000007}).images[0]));
  EXPECT_TRUE(together[2].equal(together[0]));
  EXPECT_FALSE(together[1].equal(together[0]));
  EXPECT_FALSE(noise(1).get({5}).images[0].equal(together[0]));
}

// Eight bytes a draw, the low one first, of the child that the index names.
TEST(NoiseDataset, BytesAreThoseOfTheDraws) {
  const at::Tensor image =
      NoiseDataset(Rng(3), {1, 1, 11}, 100).get({42}).images.flatten();
  Rng rng = Rng(3).child(42);
  uint64_t word = 0;
  for (int i = 0; i < 11; ++i) {
    if (i % 8 == 0) word = rng.next();
    EXPECT_EQ(image[i].item<int64_t>(), word >> (8 * (i % 8)) & 255) << i;
  }
}

TEST(NoiseDataset, FillsImagesOfAnySize) {
  const NoiseDataset small(Rng(1), {1, 1, 3}, 2);

  const LabelledImages both = small.get({1, 0});

  EXPECT_EQ(both.images.sizes(), at::IntArrayRef({2, 1, 1, 3}));
  EXPECT_EQ(both.labels.sizes(), at::IntArrayRef({2}));
}

TEST(NoiseDataset, RefusesWhatIsNotThere) {
  expect_error(ErrorKind::kInvalid, "expected an index within 0 .. 1, got 2",
               [] {
                 NoiseDataset(Rng(1), {1, 2, 2}, 2).get({2});
               });
  expect_error(ErrorKind::kInvalid, "at least 1 image", [] {
    NoiseDataset(Rng(1), {1, 2, 2}, 0);
  });
  expect_error(ErrorKind::kInvalid, "dimensions", [] {
    NoiseDataset(Rng(1), {1, 0, 2}, 1);
  });
}

TEST(NoiseDataset, OneImageOfOneByteIsEnough) {
  const NoiseDataset one(Rng(1), {1, 1, 1}, 1);

  EXPECT_EQ(one.size(), 1);
  EXPECT_EQ(one.get({0}).images.sizes(), at::IntArrayRef({1, 1, 1, 1}));
}

TEST(NoiseDataset, HasOneClass) {
  const LabelledImages images = noise().get({7, 8, 9});

  EXPECT_EQ(images.labels.sizes(), at::IntArrayRef({3}));
  EXPECT_EQ(images.labels.scalar_type(), at::kLong);
  EXPECT_EQ(images.labels.abs().sum().item<int64_t>(), 0);
}

TEST(NoiseDataset, RefusesEveryDimensionOfZero) {
  for (const ImageShape& shape :
       {ImageShape{0, 2, 2}, ImageShape{2, 0, 2}, ImageShape{2, 2, 0}})
    expect_error(ErrorKind::kInvalid,
                 "NoiseDataset: expected dimensions of at least 1",
                 [&] { NoiseDataset(Rng(1), shape, 1); });
  expect_error(ErrorKind::kInvalid,
               "NoiseDataset: expected at least 1 image, got -3", [] {
                 NoiseDataset(Rng(1), {1, 1, 1}, -3);
               });
}

}  // namespace
}  // namespace sotta
