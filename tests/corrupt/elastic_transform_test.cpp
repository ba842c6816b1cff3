#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(ElasticTransform, MatchesThePublishedScript) {
  testing::expect_reference(
      "elastic_transform", 8, 0,
      [](testing::ReferenceDraws& source, const KindSetting&,
         std::vector<double>& values) {
        for (double& value : values)
          value = source.uniform(-1, 1);
      });
}

at::Tensor striped_image(int64_t side) {
  const at::Tensor image = at::zeros({1, 3, side, side}, at::kByte);
  image.slice(3, 0, side, 2).fill_(200);
  return image;
}

Draws still(int64_t side) {
  return {at::zeros({1, 3, 2}, at::kDouble),
          at::zeros({1, side, side}, at::kDouble),
          at::zeros({1, side, side}, at::kDouble)};
}

TEST(ElasticTransform, WithoutMovesTheImageStays) {
  for (const int64_t side : {28, 32, 33}) {
    KindSetting setting;
    setting.side = side;
    const auto kind = make_elastic_transform(setting);
    const at::Tensor image = striped_image(side);

    EXPECT_TRUE(kind->apply(image, still(side)).equal(image)) << side;
  }
}

TEST(ElasticTransform, MovesEverythingWithTheThreeCorners) {
  KindSetting setting;
  setting.severity = 1;  // corners move by up to 2.56 pixels, nothing else
  const auto kind = make_elastic_transform(setting);
  const at::Tensor image = at::zeros({1, 3, 32, 32}, at::kByte);
  image[0][0][16][16] = 255;
  Draws draws = still(32);
  draws[0].select(2, 0).fill_(2 / 2.56);  // two pixels to the right

  const at::Tensor moved = kind->apply(image, draws);

  EXPECT_EQ(moved[0][0][16][18].item<int>(), 255);
  EXPECT_EQ(moved.to(at::kLong).sum().item<int64_t>(), 255);
}

TEST(ElasticTransform, SurvivesCornersThatFallTogether) {
  KindSetting setting;
  setting.side = 8;  // corners four pixels apart
  setting.severity = 1;
  const auto kind = make_elastic_transform(setting);
  const at::Tensor image = striped_image(8);
  Draws draws = still(8);
  draws[0][0][1][1] = 1;
  draws[0][0][0][1] = 1 - 4 / 2.56;

  EXPECT_EQ(kind->apply(image, draws).sizes(), image.sizes());
}

}  // namespace
}  // namespace sotta
