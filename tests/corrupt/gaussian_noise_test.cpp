#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(GaussianNoise, MatchesThePublishedScript) {
  testing::expect_reference(
      "gaussian_noise", 1, 0,
      [](testing::ReferenceDraws& source, const KindSetting& setting,
         std::vector<double>& values) {
        testing::draw_pixelwise(
            source, setting, 0, values,
            [](testing::ReferenceDraws& s) { return s.normal(); });
      });
}

}  // namespace
}  // namespace sotta
