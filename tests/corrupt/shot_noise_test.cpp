#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "tests/corrupt/reference_draws.h"

namespace sotta {
namespace {

// A uniform number for which the Poisson distribution with this mean gives
// `count`: the middle of the step of its distribution function.
double uniform_for(double mean, int count) {
  double below = 0;
  for (int k = 0; k < count; ++k)
    below += std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
  const double here =
      std::exp(count * std::log(mean) - mean - std::lgamma(count + 1));
  return below + here / 2;
}

at::Tensor uniforms_for(const at::Tensor& images, const at::Tensor& counts,
                        double photons) {
  at::Tensor uniforms = at::zeros(images.sizes(), at::kDouble);
  const at::Tensor whole = counts.to(at::kInt).contiguous();
  for (int64_t i = 0; i < images.numel(); ++i) {
    const int value = images.data_ptr<uint8_t>()[i];
    if (value > 0)
      uniforms.data_ptr<double>()[i] =
          uniform_for(value / 255.0 * photons, whole.data_ptr<int>()[i]);
  }
  return uniforms;
}

TEST(ShotNoise, MatchesThePublishedScriptForTheSameCounts) {
  const testing::Golden golden("corruptions/shot_noise");
  const std::map<int, double> photons = {{1, 500}, {3, 100}, {5, 50}};
  for (const auto& [severity, white] : photons) {
    SCOPED_TRACE("severity " + std::to_string(severity));
    const std::string key = "s" + std::to_string(severity);
    KindSetting setting;
    setting.severity = severity;

    const at::Tensor uniforms =
        uniforms_for(golden["input"], golden["counts_" + key], white);
    const at::Tensor found =
        make_shot_noise(setting)->apply(golden["input"], {uniforms});

    testing::expect_same_bytes(found, golden[key], 0);
  }
}

// A count k of c photons at white gives the level floor(255 k / c), at most
// 255.
TEST(ShotNoise, CountsPhotonsOfEverySeverity) {
  const double photons[2][5] = {{500, 250, 100, 75, 50}, {60, 25, 12, 5, 3}};
  const at::Tensor images = at::full({1, 3, 8, 8}, 130, at::kByte);
  const at::Tensor counts = at::arange(192, at::kInt).view({1, 3, 8, 8});
  for (const int set : {0, 1})
    for (int64_t severity = 1; severity <= 5; ++severity) {
      SCOPED_TRACE("set " + std::to_string(set) + ", severity " +
                   std::to_string(severity));
      const double white = photons[set][severity - 1];
      KindSetting setting;
      setting.side = 8;
      setting.severity = severity;
      setting.constants =
          set == 0 ? ConstantSet::kCifar : ConstantSet::kImageNet;
      // Counts near the mean, which is 130 / 255 of white.
      const auto mean = static_cast<int64_t>(white * 130 / 255);
      const at::Tensor near =
          counts.remainder(mean < 4 ? 4 : 9) + std::max<int64_t>(0, mean - 4);

      const at::Tensor found = make_shot_noise(setting)->apply(
          images, {uniforms_for(images, near, white)});

      const at::Tensor expected =
          (near.to(at::kDouble) * 255 / white).floor().clamp_max(255);
      testing::expect_same_bytes(found, expected.to(at::kByte), 0);
    }
}

TEST(ShotNoise, BlackStaysBlackAndTheLargestUniformDoesNotRunAway) {
  const at::Tensor nearly_one =
      at::full({1, 3, 32, 32}, 1 - 0x1p-40, at::kDouble);
  const at::Tensor black = at::zeros({1, 3, 32, 32}, at::kByte);

  const auto kind = make_shot_noise({});

  EXPECT_TRUE(kind->apply(black, {nearly_one}).equal(black));
  // Photons at white: 50. One level of 255 is 0.2 of them on average.
  const at::Tensor dark = at::full_like(black, 1);
  EXPECT_LT(kind->apply(dark, {nearly_one}).max().item<int>(), 255 * 20 / 50);
}

TEST(ShotNoise, KeepsTheMean) {
  const auto kind = make_shot_noise({});
  const at::Tensor grey = at::full({1, 3, 32, 32}, 100, at::kByte);
  const at::Tensor uniforms = at::zeros({1, 3, 32, 32}, at::kDouble);
  Rng rng(3);
  kind->draw(rng, uniforms.data_ptr<double>());

  const double mean =
      kind->apply(grey, {uniforms}).to(at::kDouble).mean().item<double>();

  // Truncation takes half a level; 4 deviations of the mean are 1.7.
  EXPECT_NEAR(mean, 99.6, 1.7);
}

}  // namespace
}  // namespace sotta
