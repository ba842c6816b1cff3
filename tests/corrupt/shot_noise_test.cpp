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
