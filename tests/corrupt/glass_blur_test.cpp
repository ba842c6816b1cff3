#include "corrupt/kinds/glass_blur.h"

#include <numeric>

#include "corrupt/kinds/constants.h"
#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(GlassBlur, MatchesThePublishedScript) {
  testing::expect_reference(
      "glass_blur", 4, 0,
      [](testing::ReferenceDraws& source, const KindSetting& setting,
         std::vector<double>& values) {
        const double reach = severity_constants("glass_blur", setting)[1];
        for (double& value : values)
          value = source.integer(-reach, reach);
      });
}

// The loop of the definition, one pixel after another.
std::vector<int64_t> copied_in_turn(const at::Tensor& moves, int64_t side,
                                    int64_t reach) {
  std::vector<int64_t> pixels(static_cast<size_t>(side * side));
  std::iota(pixels.begin(), pixels.end(), int64_t{0});
  const auto* move = moves.data_ptr<double>();
  for (int64_t h = side - reach; h > reach; --h)
    for (int64_t w = side - reach; w > reach; --w) {
      const auto dx = static_cast<int64_t>(*move++);
      const auto dy = static_cast<int64_t>(*move++);
      pixels[h * side + w] = pixels[(h + dy) * side + w + dx];
    }
  return pixels;
}

class GlassSources : public ::testing::TestWithParam<int64_t> {};

TEST_P(GlassSources, AreThoseOfCopyingOnePixelAfterAnother) {
  const int64_t reach = GetParam(), side = 19, lines = side - 2 * reach;
  const at::Tensor moves = at::empty({3, lines, lines, 2}, at::kDouble);
  Rng rng(5);
  for (int64_t i = 0; i < moves.numel(); ++i)
    moves.data_ptr<double>()[i] =
        static_cast<double>(rng.below(2 * reach) - reach);

  const at::Tensor sources = glass_sources(moves, side, reach);

  for (int64_t n = 0; n < 3; ++n) {
    const auto expected = copied_in_turn(moves[n], side, reach);
    const auto* found = sources[n].data_ptr<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(found, found + side * side), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Reaches, GlassSources, ::testing::Values(1, 2, 3, 4));

TEST(GlassBlur, FollowsTheLongestChainOfCopies) {
  // Every pixel takes the one to its right: the last column runs through.
  const int64_t side = 64, reach = 2, lines = side - 2 * reach;
  const at::Tensor moves = at::empty({1, lines, lines, 2}, at::kDouble);
  moves.select(3, 0).fill_(1);
  moves.select(3, 1).fill_(0);

  const at::Tensor sources =
      glass_sources(moves, side, reach).view({side, side});

  EXPECT_EQ(sources[10][reach + 1].item<int64_t>(),
            10 * side + side - reach + 1);
}

TEST(GlassBlur, DrawsMovesWithoutTheUpperEnd) {
  KindSetting setting;
  setting.side = 224;
  setting.constants = ConstantSet::kImageNet;
  const auto kind = make_glass_blur(setting);
  std::vector<double> values(2 * 216 * 216 * 2);
  Rng rng(1);

  kind->draw(rng, values.data());

  const auto ends = std::minmax_element(values.begin(), values.end());
  EXPECT_EQ(*ends.first, -4);
  EXPECT_EQ(*ends.second, 3);
}

}  // namespace
}  // namespace sotta
