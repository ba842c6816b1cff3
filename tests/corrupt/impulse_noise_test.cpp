#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

TEST(ImpulseNoise, MatchesThePublishedScript) {
  testing::expect_reference(
      "impulse_noise", 2, 0,
      [](testing::ReferenceDraws& source, const KindSetting& setting,
         std::vector<double>& values) {
        const auto uniform = [](testing::ReferenceDraws& s) {
          return s.uniform();
        };
        testing::draw_pixelwise(source, setting, 0, values, uniform);
        testing::draw_pixelwise(source, setting, 1, values, uniform);
      });
}

}  // namespace
}  // namespace sotta
