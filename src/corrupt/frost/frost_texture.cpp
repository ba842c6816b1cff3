#include "corrupt/frost/frost_texture.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/erfinv.h>

#include "sotta/core/threads.h"

#include "corrupt/frost/frost_spectrum.h"

namespace sotta {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int64_t kBands = 6;
constexpr double kPatchLength =
    96;  // pixels over which the needles' strength varies

constexpr std::array<double, 9> kNormalQuantiles = {
    -2.5758, -2.0537, -1.2816, -.6745, 0, .6745, 1.2816, 2.0537, 2.5758};

// Subtracts the mean and scales to the deviation.
void standardise(std::vector<double>& values, double deviation) {
  const auto count = static_cast<double>(values.size());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / count;
  double power = 0;
  for (double& value : values) {
    value -= mean;
    power += value * value;
  }
  const double scale = deviation / std::sqrt(power / count);
  for (double& value : values)
    value *= scale;
}

// Needles of ice: waves of six orientations, each strong in some places and
// weak in others.
Field needles(const FrostRecipe& recipe, const Rng& stream) {
  const int64_t height = recipe.height, width = recipe.width;
  const auto amplitudes = octave_amplitudes(recipe.first.shares);
  const auto patches = unit_amplitudes([](double frequency) {
    return std::exp(-0.5 * std::pow(kPatchLength * frequency, 2));
  });
  const Field common =
      random_field(patches, height, width, stream.child("common"));

  Field sum{height, width, std::vector<double>(common.values.size())};
  for (int64_t band = 0; band < kBands; ++band) {
    const Rng own = stream.child(static_cast<uint64_t>(band));
    const Field waves = random_field(orientation_band(amplitudes, band), height,
                                     width, own.child("waves"));
    const Field patch =
        random_field(patches, height, width, own.child("patches"));
    for (size_t i = 0; i < sum.values.size(); ++i)
      sum.values[i] += waves.values[i] *
                       std::exp(.25 * common.values[i] + .50 * patch.values[i]);
  }
  const auto& shares = recipe.first.shares;
  standardise(sum.values,
              std::sqrt(std::accumulate(shares.begin() + 3, shares.end(), 0.)));
  return sum;
}

void add(Field& field, const Field& other) {
  for (size_t i = 0; i < field.values.size(); ++i)
    field.values[i] += other.values[i];
}

// Piecewise linear from the normal distribution's quantiles to the recipe's;
// the end pieces go on.
double bend(double score, const std::array<double, 9>& quantiles) {
  const auto inner = std::upper_bound(kNormalQuantiles.begin() + 1,
                                      kNormalQuantiles.end() - 1, score);
  const auto right = static_cast<size_t>(inner - kNormalQuantiles.begin());
  const double t = (score - kNormalQuantiles[right - 1]) /
                   (kNormalQuantiles[right] - kNormalQuantiles[right - 1]);
  return quantiles[right - 1] + t * (quantiles[right] - quantiles[right - 1]);
}

// Gives the values the recipe's distribution and keeps their order.
void impose_distribution(std::vector<double>& values,
                         const std::array<double, 9>& quantiles) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return values[static_cast<size_t>(a)] < values[static_cast<size_t>(b)];
  });

  const auto count = static_cast<double>(values.size());
  const at::Tensor scores =
      ((at::arange(static_cast<int64_t>(values.size()), at::kDouble) + 0.5) *
           (2 / count) -
       1)
          .erfinv_()
          .mul_(std::sqrt(2.0));
  const auto* score = scores.data_ptr<double>();
  for (const int64_t i : order)
    values[static_cast<size_t>(i)] = bend(*score++, quantiles);
  standardise(values, 1);
}

at::Tensor paint(const FrostRecipe& recipe, const Field& first,
                 const Field& second) {
  at::Tensor picture = at::empty({recipe.height, recipe.width, 3}, at::kByte);
  auto* level = picture.data_ptr<uint8_t>();
  for (size_t i = 0; i < first.values.size(); ++i)
    for (size_t c = 0; c < 3; ++c) {
      const double value =
          recipe.mean[c] +
          recipe.first.deviation * first.values[i] * recipe.first.direction[c] +
          recipe.second.deviation * second.values[i] *
              recipe.second.direction[c];
      *level++ = static_cast<uint8_t>(std::clamp(std::rint(value), 0., 255.));
    }
  return picture;
}

}  // namespace

at::Tensor make_frost_texture(const FrostRecipe& recipe) {
  const int64_t height = recipe.height, width = recipe.width;
  // The photographs differ in height, which is as good a key as their number.
  const Rng stream =
      Rng(kSeed).child("frost texture").child(static_cast<uint64_t>(height));

  Field first = needles(recipe, stream.child("needles"));
  add(first, random_layout(recipe.first.shares, height, width,
                           stream.child("layout").child(recipe.layout)));
  impose_distribution(first.values, recipe.quantiles);

  Field second = random_field(octave_amplitudes(recipe.second.shares), height,
                              width, stream.child("second"));
  add(second, random_layout(recipe.second.shares, height, width,
                            stream.child("second layout")));
  return paint(recipe, first, second);
}

const std::array<at::Tensor, kFrostRecipes>& procedural_frost() {
  static const auto kTextures = [] {
    std::array<at::Tensor, kFrostRecipes> textures;
    run_in_threads(kFrostRecipes, available_cores(), [&](int64_t i) {
      const auto index = static_cast<size_t>(i);
      textures[index] = make_frost_texture(frost_recipes()[index]);
    });
    return textures;
  }();
  return kTextures;
}

}  // namespace sotta
