#include "adapt/memory/images.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "models/resnet.h"

namespace sotta {
namespace {

at::Tensor bytes(int64_t value) {
  return at::full({1, 1, 1, 1}, value, at::kByte);
}
at::Tensor floats(double value) {
  return at::full({1, 1, 1, 1}, value, at::kFloat);
}

TEST(Images, JoinKeepsBytesAndConvertsMixtures) {
  EXPECT_EQ(join_images({}, bytes(1)).scalar_type(), at::kByte);
  EXPECT_EQ(join_images(bytes(1), bytes(2)).scalar_type(), at::kByte);
  const at::Tensor mixed = join_images(bytes(51), floats(0.5));
  EXPECT_EQ(mixed.scalar_type(), at::kFloat);
  EXPECT_FLOAT_EQ(mixed.view(-1)[0].item<float>(), 0.2f);
  EXPECT_FLOAT_EQ(mixed.view(-1)[1].item<float>(), 0.5f);
}

TEST(Images, JoinCopies) {
  const at::Tensor original = bytes(1);
  const at::Tensor joined = join_images({}, original);
  original.fill_(9);
  EXPECT_EQ(joined.item<int64_t>(), 1);
}

TEST(Images, OnlyGreyAndColourCanBeAugmented) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    ResNetSpec spec;
    spec.widths = {2};
    spec.blocks = {1};
    spec.channels = channels;
    const std::vector<double> one(static_cast<size_t>(channels), 1);
    const auto model =
        make_resnet(spec, random_resnet_state(spec, Rng(0)), {one, one});
    if (channels % 2 == 1)
      EXPECT_NO_THROW(require_augmentable(*model)) << channels;
    else
      EXPECT_THROW(require_augmentable(*model), Error) << channels;
  }
}

}  // namespace
}  // namespace sotta
