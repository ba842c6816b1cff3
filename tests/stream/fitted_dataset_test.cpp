#include "stream/fitted_dataset.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "data/images/resize.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

using testing::expect_error;

// Four images whose pixels go up and wrap around.
std::shared_ptr<const Dataset> ramps(int64_t channels, int64_t height,
                                     int64_t width) {
  const at::Tensor images = at::arange(4 * channels * height * width, at::kLong)
                                .mul(7)
                                .to(at::kByte)
                                .view({4, channels, height, width});
  return std::make_shared<TensorDataset>(
      LabelledImages{images, at::arange(4, at::kLong)}, 4, "ramps");
}

TEST(FittedDataset, ResizesAsResizeBilinearDoes) {
  const auto original = ramps(3, 8, 6);
  const FittedDataset fitted(original, {3, 5, 9});

  const LabelledImages got = fitted.get({2, 0});

  const at::Tensor first =
      to_tensor(resize_bilinear(to_array(original->get({2}).images[0]), 5, 9));
  EXPECT_TRUE(got.images[0].equal(first));
  EXPECT_EQ(got.images.sizes(), at::IntArrayRef({2, 3, 5, 9}));
  EXPECT_TRUE(got.labels.equal(at::tensor({2, 0}, at::kLong)));
}

TEST(FittedDataset, GreyBecomesThreeEqualChannels) {
  const auto original = ramps(1, 4, 4);
  const FittedDataset fitted(original, {3, 8, 8});

  const at::Tensor image = fitted.get({1}).images[0];

  const at::Tensor grey =
      to_tensor(resize_bilinear(to_array(original->get({1}).images[0]), 8, 8));
  for (int64_t channel = 0; channel < 3; ++channel)
    EXPECT_TRUE(image[channel].equal(grey[0]));
}

TEST(FittedDataset, ColourBecomesPillowsLuma) {
  // Image.convert("L") of red, green, blue, white and (10, 200, 60).
  const at::Tensor pixels =
      at::tensor({255, 0, 0, 255, 10, 0, 255, 0, 255, 200, 0, 0, 255, 255, 60},
                 at::kByte)
          .view({1, 3, 1, 5});
  const auto colours = std::make_shared<TensorDataset>(
      LabelledImages{pixels, at::zeros({1}, at::kLong)}, 1, "colours");

  const at::Tensor grey = FittedDataset(colours, {1, 1, 5}).get({0}).images;

  EXPECT_TRUE(
      grey.flatten().equal(at::tensor({76, 150, 29, 255, 127}, at::kByte)));
}

TEST(FittedDataset, KeepsSizeAndLabels) {
  const FittedDataset fitted(ramps(1, 4, 4), {3, 2, 2});

  EXPECT_EQ(fitted.size(), 4);
  EXPECT_EQ(fitted.classes(), 4);
  EXPECT_TRUE(fitted.labels().equal(at::arange(4, at::kLong)));
  EXPECT_EQ(fitted.get({}).images.sizes(), at::IntArrayRef({0, 3, 2, 2}));
}

TEST(FittedDataset, IsTheSameAtAnyThreadCount) {
  const FittedDataset fitted(ramps(3, 30, 20), {1, 17, 17});

  testing::expect_same_bits_at_any_thread_count([&] {
    return fitted.get({3, 2, 1, 0, 0, 3}).images;
  });
}

TEST(FittedDataset, RefusesOtherNumbersOfChannels) {
  expect_error(ErrorKind::kInvalid, "1 or 3 channels, got 2", [] {
    FittedDataset(ramps(2, 4, 4), {3, 4, 4});
  });
  expect_error(ErrorKind::kInvalid, "1 or 3 channels, got 4", [] {
    FittedDataset(ramps(3, 4, 4), {4, 4, 4});
  });
}

TEST(FittedDataset, FitsEveryImageOfACall) {
  const auto original = ramps(3, 8, 6);

  const at::Tensor got =
      FittedDataset(original, {3, 5, 9}).get({2, 0, 3}).images;

  const int64_t wanted[] = {2, 0, 3};
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(got[i].equal(to_tensor(
        resize_bilinear(to_array(original->get({wanted[i]}).images[0]), 5, 9))))
        << i;
}

// Lumas of 115.49998, 156.50003, 64.50003 and 181.49991.
TEST(FittedDataset, LumaIsRoundedAsPillowRoundsIt) {
  const at::Tensor pixels =
      at::tensor({5, 127, 35, 119, 188, 159, 67, 248, 32, 221, 129, 3},
                 at::kByte)
          .view({1, 3, 2, 2});
  const auto colours = std::make_shared<TensorDataset>(
      LabelledImages{pixels, at::zeros({1}, at::kLong)}, 1, "colours");

  const at::Tensor grey = FittedDataset(colours, {1, 2, 2}).get({0}).images;

  EXPECT_TRUE(grey.flatten().equal(at::tensor({115, 157, 65, 181}, at::kByte)));
}

TEST(SameShape, ComparesEveryDimension) {
  const ImageShape shape{3, 4, 5};
  EXPECT_TRUE(same_shape(shape, {3, 4, 5}));
  EXPECT_FALSE(same_shape(shape, {1, 4, 5}));
  EXPECT_FALSE(same_shape(shape, {3, 5, 5}));
  EXPECT_FALSE(same_shape(shape, {3, 4, 4}));
  EXPECT_FALSE(same_shape(shape, {3, 5, 4}));
}

}  // namespace
}  // namespace sotta
