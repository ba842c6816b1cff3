#include "models/pixel_input.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

PixelInput two_channels() {
  return PixelInput({{0.5, 0.25}, {0.5, 0.125}}, at::zeros({1}, at::kFloat));
}

TEST(PixelInput, SubtractsAndDividesPerChannel) {
  const at::Tensor result =
      two_channels().normalise(at::full({1, 2, 1, 1}, 0.75f), at::kCPU);
  EXPECT_FLOAT_EQ(result[0][0].item<float>(), 0.5f);
  EXPECT_FLOAT_EQ(result[0][1].item<float>(), 4.0f);
}

TEST(PixelInput, BytesAndTheirFloatsGiveTheSameBits) {
  const PixelInput input = two_channels();
  const at::Tensor bytes = at::full({1, 2, 3, 3}, 77, at::kByte);
  EXPECT_TRUE(
      input.normalise(bytes, at::kCPU)
          .equal(input.normalise(bytes.to(at::kFloat).div(255), at::kCPU)));
}

TEST(PixelInput, OtherShapesAndTypesAreRefused) {
  const PixelInput input = two_channels();
  const auto expect_refusal = [&](const at::Tensor& images) {
    testing::expect_error(ErrorKind::kInvalid,
                          "expected uint8 or float images [N, 2, H, W]",
                          [&] { input.normalise(images, at::kCPU); });
  };
  expect_refusal(at::zeros({1, 3, 4, 4}));
  expect_refusal(at::zeros({2, 4, 4}));
  expect_refusal(at::zeros({1, 2, 4, 4}, at::kDouble));
}

TEST(PixelInput, ARefusalShowsTypeAndShape) {
  const PixelInput input = two_channels();
  testing::expect_error(
      ErrorKind::kInvalid,
      "forward: expected uint8 or float images [N, 2, H, W], got Double [1, 3, "
      "4, 5]",
      [&] {
        input.normalise(at::zeros({1, 3, 4, 5}, at::kDouble), at::kCPU);
      });
}

}  // namespace
}  // namespace sotta
