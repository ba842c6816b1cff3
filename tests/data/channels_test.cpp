#include "data/images/channels.h"

#include <ATen/ops/tensor.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

at::Tensor bytes(const std::vector<int64_t>& values, int64_t channels) {
  return at::tensor(values, at::kByte).reshape({channels, 1, -1});
}

TEST(Channels, BrightnessIsPillowsOfRedGreenBlueAndWhite) {
  const at::Tensor rgb =
      bytes({255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255}, 3);

  EXPECT_TRUE(with_channels(rgb, 1).equal(bytes({76, 150, 29, 255}, 1)));
}

TEST(Channels, GreyBecomesThreeEqualPlanes) {
  EXPECT_TRUE(
      with_channels(bytes({7, 9}, 1), 3).equal(bytes({7, 9, 7, 9, 7, 9}, 3)));
}

TEST(Channels, WhatFitsStaysAsItIs) {
  const at::Tensor images = bytes({1, 2, 3, 4}, 4);

  EXPECT_TRUE(with_channels(images, 4).is_same(images));
}

TEST(Channels, OtherNumbersOfChannelsAreRefused) {
  testing::expect_error(ErrorKind::kInvalid, "expected 3 channels, got 4", [] {
    with_channels(bytes({1, 2, 3, 4}, 4), 3);
  });
}

}  // namespace
}  // namespace sotta
