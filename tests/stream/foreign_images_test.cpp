#include "stream/foreign_images.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

std::shared_ptr<const Dataset> images(int64_t count, int64_t channels,
                                      int64_t side) {
  return std::make_shared<TensorDataset>(
      LabelledImages{at::full({count, channels, side, side}, 7, at::kByte),
                     at::zeros({count}, at::kLong)},
      1, "images");
}

StreamSources sources_with(std::shared_ptr<const Dataset> foreign) {
  StreamSources sources;
  sources.domains = {{"clean", images(4, 1, 8)}};
  sources.foreign = std::move(foreign);
  return sources;
}

StreamOptions under(const std::string& scenario, int64_t seed = 0) {
  StreamOptions options;
  options.scenario = scenario;
  options.seed = seed;
  return options;
}

TEST(ForeignImages, AreNoneWithoutASetOfTheirOwn) {
  const auto sources = sources_with(images(3, 1, 8));
  EXPECT_EQ(foreign_images(under("benign"), sources), nullptr);
  EXPECT_EQ(foreign_images(under("attack"), sources), nullptr);
}

TEST(ForeignImages, AreTheSetItselfIfItHasTheTargetsShape) {
  const auto foreign = images(3, 1, 8);
  EXPECT_EQ(foreign_images(under("near"), sources_with(foreign)), foreign);
  EXPECT_EQ(foreign_images(under("near"), sources_with(nullptr)), nullptr);
}

TEST(ForeignImages, AreFittedToTheTarget) {
  const auto fitted =
      foreign_images(under("far"), sources_with(images(3, 3, 5)));
  EXPECT_EQ(fitted->size(), 3);
  EXPECT_EQ(fitted->shape().channels, 1);
  EXPECT_EQ(fitted->shape().height, 8);
}

TEST(ForeignImages, AreGeneratedInTheTargetsShapeFromTheSeed) {
  const auto sources = sources_with(nullptr);
  const auto first = foreign_images(under("noise", 1), sources)->range(0, 2);
  const auto again = foreign_images(under("noise", 1), sources)->range(0, 2);
  const auto other = foreign_images(under("noise", 2), sources)->range(0, 2);
  EXPECT_EQ(first.images.sizes(), (std::vector<int64_t>{2, 1, 8, 8}));
  EXPECT_TRUE(first.images.equal(again.images));
  EXPECT_FALSE(first.images.equal(other.images));
}

}  // namespace
}  // namespace sotta
