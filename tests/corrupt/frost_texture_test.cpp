#include "corrupt/frost/frost_texture.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// Over all places of a square crop and all channels: mean of the crop means,
// their standard deviation, and the root mean square of the deviation inside.
struct CropStatistics {
  std::array<double, 3> mean;
  std::array<double, 3> spread;
  std::array<double, 3> inside;
};

// What specification section 5.1 says of the photographs.
struct PhotographStatistics {
  CropStatistics full;       // crops of 224 pixels
  CropStatistics decimated;  // crops of 32 pixels, every fifth pixel
};

const std::array<PhotographStatistics, kFrostRecipes> kPhotographs = {{
    {{{77.0, 147.7, 164.1}, {15.3, 8.2, 6.3}, {23.8, 14.4, 13.4}},
     {{76.7, 148.1, 164.7}, {17.2, 9.5, 7.7}, {21.6, 13.2, 12.7}}},
    {{{197.9, 202.2, 211.5}, {5.5, 6.1, 6.4}, {19.5, 20.1, 20.9}},
     {{198.5, 202.9, 212.2}, {8.2, 9.0, 9.6}, {17.9, 18.3, 18.9}}},
    {{{144.9, 159.7, 172.6}, {6.4, 6.3, 6.8}, {26.1, 26.2, 27.5}},
     {{143.5, 158.3, 171.1}, {10.0, 9.9, 10.6}, {25.9, 26.0, 27.0}}},
    {{{100.8, 112.2, 124.1}, {12.0, 11.6, 10.9}, {36.3, 35.9, 35.1}},
     {{102.7, 114.1, 125.9}, {16.4, 15.8, 14.9}, {35.4, 35.0, 34.2}}},
}};

// Mean over every window of this side, [H-side, W-side].
at::Tensor window_means(const at::Tensor& values, int64_t side) {
  const at::Tensor sums =
      at::constant_pad_nd(values.cumsum(0).cumsum(1), {1, 0, 1, 0});
  const int64_t rows = values.size(0) - side, columns = values.size(1) - side;
  const auto corner = [&](int64_t top, int64_t left) {
    return sums.narrow(0, top, rows).narrow(1, left, columns);
  };
  return (corner(side, side) - corner(0, side) - corner(side, 0) +
          corner(0, 0)) /
         static_cast<double>(side * side);
}

CropStatistics crop_statistics(const at::Tensor& texture, int64_t side) {
  CropStatistics result;
  for (int64_t c = 0; c < 3; ++c) {
    const at::Tensor values = texture.select(2, c).to(at::kDouble);
    const at::Tensor means = window_means(values, side);
    const at::Tensor variances =
        window_means(values * values, side) - means * means;
    result.mean[c] = means.mean().item<double>();
    result.spread[c] = means.std(/*unbiased=*/false).item<double>();
    result.inside[c] = std::sqrt(variances.mean().item<double>());
  }
  return result;
}

// Every fifth pixel: what the 32-pixel corruption takes its crops from.
at::Tensor decimate(const at::Tensor& texture) {
  return texture.slice(0, 2, texture.size(0), 5)
      .slice(1, 2, texture.size(1), 5);
}

double misfit(const CropStatistics& found, const CropStatistics& wanted) {
  double sum = 0;
  for (size_t c = 0; c < 3; ++c)
    sum += std::pow(found.mean[c] - wanted.mean[c], 2) / 25 +
           std::pow(found.spread[c] - wanted.spread[c], 2) +
           std::pow(found.inside[c] - wanted.inside[c], 2);
  return sum;
}

double misfit(const at::Tensor& texture, const PhotographStatistics& wanted) {
  return misfit(crop_statistics(texture, 224), wanted.full) +
         misfit(crop_statistics(decimate(texture), 32), wanted.decimated);
}

void expect_near(const CropStatistics& found, const CropStatistics& wanted) {
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(found.mean[c], wanted.mean[c], 9) << "channel " << c;
    EXPECT_NEAR(found.spread[c], wanted.spread[c], 4) << "channel " << c;
    EXPECT_NEAR(found.inside[c], wanted.inside[c], 4) << "channel " << c;
  }
}

// Correlation of horizontal neighbours, over all channels.
double neighbour_correlation(const at::Tensor& texture) {
  at::Tensor values = texture.to(at::kDouble);
  values = values - values.mean(at::IntArrayRef{0, 1}, /*keepdim=*/true);
  const int64_t pairs = values.size(1) - 1;
  const at::Tensor product =
      values.narrow(1, 0, pairs) * values.narrow(1, 1, pairs);
  return (product.mean() / (values * values).mean()).item<double>();
}

TEST(FrostTexture, HasTheSizesOfThePhotographs) {
  const auto& textures = procedural_frost();
  EXPECT_EQ(textures[0].sizes(), (std::vector<int64_t>{600, 900, 3}));
  EXPECT_EQ(textures[1].sizes(), (std::vector<int64_t>{315, 560, 3}));
  EXPECT_EQ(textures[2].sizes(), (std::vector<int64_t>{350, 527, 3}));
  EXPECT_EQ(textures[3].sizes(), (std::vector<int64_t>{495, 660, 3}));
}

TEST(FrostTexture, HasTheMeanColoursOfThePhotographs) {
  for (size_t i = 0; i < kFrostRecipes; ++i)
    for (int64_t c = 0; c < 3; ++c)
      // Clipping to 0 .. 255 moves the dark one's mean.
      EXPECT_NEAR(procedural_frost()[i]
                      .select(2, c)
                      .to(at::kDouble)
                      .mean()
                      .item<double>(),
                  frost_recipes()[i].mean[static_cast<size_t>(c)], 3)
          << "texture " << i << ", channel " << c;
}

TEST(FrostTexture, CropsAreLikeThoseOfThePhotographs) {
  for (size_t i = 0; i < kFrostRecipes; ++i) {
    SCOPED_TRACE(i);
    const at::Tensor& texture = procedural_frost()[i];
    expect_near(crop_statistics(texture, 224), kPhotographs[i].full);
    expect_near(crop_statistics(decimate(texture), 32),
                kPhotographs[i].decimated);
  }
}

TEST(FrostTexture, IsAsRoughAsThePhotographs) {
  const std::array<double, kFrostRecipes> full = {.841, .869, .798, .836};
  const std::array<double, kFrostRecipes> decimated = {.687, .602, .483, .578};
  for (size_t i = 0; i < kFrostRecipes; ++i) {
    const at::Tensor& texture = procedural_frost()[i];
    EXPECT_NEAR(neighbour_correlation(texture), full[i], .05) << i;
    // Imposing the distribution of values costs the white one some of it.
    EXPECT_NEAR(neighbour_correlation(decimate(texture)), decimated[i], .1)
        << i;
  }
}

// Mean and deviation of the channels, then the mean product of the first
// channel with its neighbour to the right and below, in levels.
std::array<double, 8> summary(const at::Tensor& texture) {
  const at::Tensor values = texture.to(at::kDouble);
  std::array<double, 8> result{};
  for (int64_t c = 0; c < 3; ++c) {
    result[static_cast<size_t>(c)] = values.select(2, c).mean().item<double>();
    result[static_cast<size_t>(3 + c)] =
        values.select(2, c).std(/*unbiased=*/false).item<double>();
  }
  const at::Tensor first = values.select(2, 0);
  const int64_t height = first.size(0), width = first.size(1);
  result[6] =
      std::sqrt((first.narrow(1, 0, width - 1) * first.narrow(1, 1, width - 1))
                    .mean()
                    .item<double>());
  result[7] = std::sqrt(
      (first.narrow(0, 0, height - 1) * first.narrow(0, 1, height - 1))
          .mean()
          .item<double>());
  return result;
}

// Results are only comparable while frost stays the same.
TEST(FrostTexture, IsThePictureItHasAlwaysBeen) {
  const std::array<double, 8> expected[] = {
      {77.631, 149.147, 165.788, 26.580, 16.632, 15.567, 81.274, 81.306},
      {200.824, 205.400, 214.450, 21.470, 22.079, 22.428, 201.773, 201.773},
      {137.591, 152.771, 165.103, 28.446, 28.386, 29.478, 139.802, 139.854},
      {112.400, 123.368, 134.724, 44.606, 43.135, 41.275, 119.588, 119.569},
  };
  for (size_t i = 0; i < kFrostRecipes; ++i) {
    const auto found = summary(procedural_frost()[i]);
    for (size_t k = 0; k < found.size(); ++k)
      EXPECT_NEAR(found[k], expected[i][k], 1e-3) << i << ", number " << k;
  }
}

TEST(FrostTexture, IsTheSameWheneverItIsMade) {
  EXPECT_TRUE(
      make_frost_texture(frost_recipes()[1]).equal(procedural_frost()[1]));
}

// Prints the layouts for frost_recipe.cpp; minutes.
TEST(FrostTexture, DISABLED_ChoosesTheLayouts) {
  for (size_t i = 0; i < kFrostRecipes; ++i) {
    FrostRecipe recipe = frost_recipes()[i], best = recipe;
    double least = HUGE_VAL;
    for (recipe.layout = 0; recipe.layout < 32; ++recipe.layout) {
      const double error = misfit(make_frost_texture(recipe), kPhotographs[i]);
      if (error >= least) continue;
      least = error;
      best = recipe;
    }
    std::printf("texture %zu: layout %d, misfit %.1f\n", i,
                static_cast<int>(best.layout), least);
    EXPECT_EQ(best.layout, frost_recipes()[i].layout);
  }
}

}  // namespace
}  // namespace sotta
