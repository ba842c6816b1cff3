#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(Snow, MatchesThePublishedScript) {
  testing::expect_reference(
      "snow", 5, 0,
      [](testing::ReferenceDraws& source, const KindSetting&,
         std::vector<double>& values) {
        for (auto value = values.begin(); value + 1 != values.end(); ++value)
          *value = source.normal();
        values.back() = source.uniform(-135, -45);
      });
}

TEST(Snow, WithoutFlakesOnlyThePictureFades) {
  KindSetting setting;  // mix .8: x' = .8 x + .2 max(x, 1.5 grey + .5)
  const auto kind = make_snow(setting);
  const at::Tensor black = at::zeros({1, 3, 32, 32}, at::kByte);
  const Draws draws = {at::full({1, 32, 32}, -9, at::kDouble),
                       at::full({1}, -90, at::kDouble)};

  const at::Tensor found = kind->apply(black, draws);

  EXPECT_TRUE(found.equal(at::full_like(black, 25)));  // .2 * .5 * 255
}

TEST(Snow, AFlakeFallsDownAndItsMirrorImageUp) {
  KindSetting setting;
  setting.severity = 1;  // no zoom
  const auto kind = make_snow(setting);
  const at::Tensor black = at::zeros({1, 3, 32, 32}, at::kByte);
  const at::Tensor noise = at::full({1, 32, 32}, -9, at::kDouble);
  noise[0][4][10] = 9;
  const at::Tensor calm =
      kind->apply(black, {at::full({1, 32, 32}, -9, at::kDouble),
                          at::full({1}, -90, at::kDouble)});

  const at::Tensor added =
      kind->apply(black, {noise, at::full({1}, -90, at::kDouble)}) - calm;

  EXPECT_GT(added[0][0][4][10].item<int>(), 0);
  EXPECT_GT(added[0][0][6][10].item<int>(), 0);
  EXPECT_EQ(added[0][0][3][10].item<int>(), 0);
  EXPECT_GT(added[0][0][27][21].item<int>(), 0);
  EXPECT_GT(added[0][0][25][21].item<int>(), 0);
}

}  // namespace
}  // namespace sotta
