#pragma once

#include <array>
#include <cstdint>

namespace sotta {

// Octaves of spatial frequency: octave o is [2^(o-11), 2^(o-10)) cycles per
// pixel of the full-size picture.
constexpr int64_t kFrostOctaves = 11;

// One principal component of a texture's colours.
struct FrostComponent {
  double deviation;                          // in 8-bit levels
  std::array<double, 3> direction;           // unit vector, RGB
  std::array<double, kFrostOctaves> shares;  // of the variance, per octave
};

// What is known of one photograph of frost: enough to make a picture that acts
// on a classifier like it.
struct FrostRecipe {
  int64_t height;
  int64_t width;
  std::array<double, 3> mean;  // RGB
  FrostComponent first;
  FrostComponent second;
  // Of the first component, in its deviations, at the probabilities .005 .02
  // .1 .25 .5 .75 .9 .98 .995.
  std::array<double, 9> quantiles;
  // Which draw of the large-scale layout is used. It decides the statistics of
  // small crops, so it was chosen among 32 as the one that comes closest to the
  // photograph's (FrostTexture.DISABLED_ChoosesTheLayouts).
  uint64_t layout;
};

// Teal, white, grey and dark: the four different ones of the five photographs.
constexpr int64_t kFrostRecipes = 4;
const std::array<FrostRecipe, kFrostRecipes>& frost_recipes();

}  // namespace sotta
