#include "corrupt/kinds/fog.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Fog, MatchesThePublishedScript) {
  testing::expect_reference(
      "fog", 7, 0,
      [](testing::ReferenceDraws& source, const KindSetting&,
         std::vector<double>& values) {
        for (double& value : values)
          value = source.uniform(-1, 1);
      });
}

TEST(Fog, MapsSpanZeroToOne) {
  const at::Tensor uniforms = at::zeros({2, 63}, at::kDouble);
  uniforms[0][0] = 1;
  uniforms[1][40] = -.5;

  const at::Tensor maps = plasma_maps(uniforms, 8, 2);

  EXPECT_EQ(maps.sizes(), (std::vector<int64_t>{2, 8, 8}));
  EXPECT_TRUE((maps.amin({1, 2}) == 0).all().item<bool>());
  EXPECT_TRUE((maps.amax({1, 2}) == 1).all().item<bool>());
}

TEST(Fog, OneDisplacementSpreadsToTheMidpoints) {
  // Side 2: corner 0, centre, top, left = 0, w^2 u0, (2 centre)/4 + ..., ...
  const at::Tensor uniforms = at::zeros({1, 3}, at::kDouble);
  uniforms[0][0] = .5;  // centre 5000, then both midpoints 2500

  const at::Tensor map = plasma_maps(uniforms, 2, 3)[0];

  EXPECT_DOUBLE_EQ(map[0][0].item<double>(), 0);
  EXPECT_DOUBLE_EQ(map[1][1].item<double>(), 1);
  EXPECT_DOUBLE_EQ(map[0][1].item<double>(), .5);
  EXPECT_DOUBLE_EQ(map[1][0].item<double>(), .5);
}

TEST(Fog, ABlackImageStaysBlack) {
  KindSetting setting;
  setting.side = 28;
  const auto kind = make_fog(setting);
  const at::Tensor images = at::zeros({1, 3, 28, 28}, at::kByte);
  const at::Tensor uniforms = at::full({1, 1023}, .5, at::kDouble);
  uniforms[0][7] = -1;

  EXPECT_TRUE(kind->apply(images, {uniforms}).equal(images));
}

}  // namespace
}  // namespace sotta
