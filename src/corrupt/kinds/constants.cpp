#include "corrupt/kinds/constants.h"

#include <algorithm>
#include <iterator>

#include "sotta/core/error.h"
#include "sotta/corrupt/corruption.h"

namespace sotta {
namespace {

struct Row {
  const char* kind;
  double cifar[kMaxSeverity][kMaxConstants];
  double imagenet[kMaxSeverity][kMaxConstants];
};

// From the scripts published with the paper, make_cifar_c.py and
// make_imagenet_c.py: severities 1 to 5 for small images, then for large ones.
// Beside each name what the numbers of one severity are.
constexpr Row kTable[] = {
    {"gaussian_noise",  // standard deviation
     {{.04}, {.06}, {.08}, {.09}, {.10}},
     {{.08}, {.12}, {.18}, {.26}, {.38}}},
    {"shot_noise",  // photons at white
     {{500}, {250}, {100}, {75}, {50}},
     {{60}, {25}, {12}, {5}, {3}}},
    {"impulse_noise",  // share of values replaced
     {{.01}, {.02}, {.03}, {.05}, {.07}},
     {{.03}, {.06}, {.09}, {.17}, {.27}}},
    {"defocus_blur",  // radius of the disk, deviation of its smoothing
     {{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}},
     {{3, .1}, {4, .5}, {6, .5}, {8, .5}, {10, .5}}},
    {"glass_blur",  // deviation, reach of a move, passes
     {{.05, 1, 1}, {.25, 1, 1}, {.4, 1, 1}, {.25, 1, 2}, {.4, 1, 2}},
     {{.7, 1, 2}, {.9, 2, 1}, {1, 2, 3}, {1.1, 3, 2}, {1.5, 4, 2}}},
    {"motion_blur",  // radius, deviation
     {{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}},
     {{10, 3}, {15, 5}, {15, 8}, {15, 12}, {20, 15}}},
    {"zoom_blur",  // step between the factors, their number
     {{.01, 7}, {.01, 12}, {.01, 16}, {.01, 21}, {.01, 26}},
     {{.01, 12}, {.01, 16}, {.02, 11}, {.02, 13}, {.03, 11}}},
    {"snow",  // location, scale, zoom, threshold, radius, deviation, mix
     {{.1, .2, 1, .6, 8, 3, .95},
      {.1, .2, 1, .5, 10, 4, .9},
      {.15, .3, 1.75, .55, 10, 4, .9},
      {.25, .3, 2.25, .6, 12, 6, .85},
      {.3, .3, 1.25, .65, 14, 12, .8}},
     {{.1, .3, 3, .5, 10, 4, .8},
      {.2, .3, 2, .5, 12, 4, .7},
      {.55, .3, 4, .9, 12, 8, .7},
      {.55, .3, 4.5, .85, 12, 8, .65},
      {.55, .3, 2.5, .85, 12, 12, .55}}},
    {"frost",  // weight of the image, of the texture
     {{1, .2}, {1, .3}, {.9, .4}, {.85, .4}, {.75, .45}},
     {{1, .4}, {.8, .6}, {.7, .7}, {.65, .7}, {.6, .75}}},
    {"fog",  // weight, decay of the amplitude per level
     {{.2, 3}, {.5, 3}, {.75, 2.5}, {1, 2}, {1.5, 1.75}},
     {{1.5, 2}, {2, 2}, {2.5, 1.7}, {2.5, 1.5}, {3, 1.4}}},
    {"brightness",  // added to the value
     {{.05}, {.1}, {.15}, {.2}, {.3}},
     {{.1}, {.2}, {.3}, {.4}, {.5}}},
    {"contrast",  // factor
     {{.75}, {.5}, {.4}, {.3}, {.15}},
     {{.4}, {.3}, {.2}, {.1}, {.05}}},
    // Displacement, deviation of its smoothing, shift of the affine part, all
    // in pixels. 32 and 244 are the published factors: 244 is a slip of the
    // original's that its images have.
    {"elastic_transform",
     {{0, 0, 32 * .08},
      {32 * .05, 32 * .2, 32 * .07},
      {32 * .08, 32 * .06, 32 * .06},
      {32 * .1, 32 * .04, 32 * .05},
      {32 * .1, 32 * .03, 32 * .03}},
     {{244 * 2, 244 * .7, 244 * .1},
      {244 * 2, 244 * .08, 244 * .2},
      {244 * .05, 244 * .01, 244 * .02},
      {244 * .07, 244 * .01, 244 * .02},
      {244 * .12, 244 * .01, 244 * .02}}},
    {"pixelate",  // share of the side that is kept
     {{.95}, {.9}, {.85}, {.75}, {.65}},
     {{.6}, {.5}, {.4}, {.3}, {.25}}},
    {"jpeg_compression",  // quality
     {{80}, {65}, {58}, {50}, {40}},
     {{25}, {18}, {15}, {10}, {7}}},
    {"speckle_noise",  // standard deviation
     {{.06}, {.1}, {.12}, {.16}, {.2}},
     {{.15}, {.2}, {.35}, {.45}, {.6}}},
    {"gaussian_blur",  // deviation
     {{.4}, {.6}, {.7}, {.8}, {1}},
     {{1}, {2}, {3}, {4}, {6}}},
    {"spatter",  // location, scale, deviation, threshold, intensity, is mud
     {{.62, .1, .7, .7, .5, 0},
      {.65, .1, .8, .7, .5, 0},
      {.65, .3, 1, .69, .5, 0},
      {.65, .1, .7, .69, .6, 1},
      {.65, .1, .5, .68, .6, 1}},
     {{.65, .3, 4, .69, .6, 0},
      {.65, .3, 3, .68, .6, 0},
      {.65, .3, 2, .68, .5, 0},
      {.65, .3, 1, .65, 1.5, 1},
      {.67, .4, 1, .65, 1.5, 1}}},
    {"saturate",  // gain, offset
     {{.3, 0}, {.1, 0}, {1.5, 0}, {2, .1}, {2.5, .2}},
     {{.3, 0}, {.1, 0}, {2, 0}, {5, .1}, {20, .2}}},
};

}  // namespace

Constants severity_constants(const std::string& kind,
                             const KindSetting& setting) {
  const auto* row =
      std::find_if(std::begin(kTable), std::end(kTable),
                   [&](const Row& each) { return kind == each.kind; });
  require(row != std::end(kTable), kind, "has no constants");
  const auto& set =
      setting.constants == ConstantSet::kCifar ? row->cifar : row->imagenet;
  const auto& numbers = set[setting.severity - 1];
  Constants constants;
  std::copy(std::begin(numbers), std::end(numbers), constants.begin());
  return constants;
}

}  // namespace sotta
