#include "corrupt/kinds/constants.h"

#include <vector>

#include <gtest/gtest.h>

#include "sotta/corrupt/corruption.h"

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// The published table once more, written down from its description and not from
// constants.cpp: severities 1 to 5 for small images, then for large ones.
struct PublishedRow {
  const char* kind;
  std::vector<double> cifar[kMaxSeverity];
  std::vector<double> imagenet[kMaxSeverity];
};
const PublishedRow kPublished[] = {
    {"gaussian_noise",
     {{.04}, {.06}, {.08}, {.09}, {.10}},
     {{.08}, {.12}, {.18}, {.26}, {.38}}},
    {"shot_noise",
     {{500}, {250}, {100}, {75}, {50}},
     {{60}, {25}, {12}, {5}, {3}}},
    {"impulse_noise",
     {{.01}, {.02}, {.03}, {.05}, {.07}},
     {{.03}, {.06}, {.09}, {.17}, {.27}}},
    {"defocus_blur",
     {{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}},
     {{3, .1}, {4, .5}, {6, .5}, {8, .5}, {10, .5}}},
    {"glass_blur",
     {{.05, 1, 1}, {.25, 1, 1}, {.4, 1, 1}, {.25, 1, 2}, {.4, 1, 2}},
     {{.7, 1, 2}, {.9, 2, 1}, {1, 2, 3}, {1.1, 3, 2}, {1.5, 4, 2}}},
    {"motion_blur",
     {{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}},
     {{10, 3}, {15, 5}, {15, 8}, {15, 12}, {20, 15}}},
    {"zoom_blur",
     {{.01, 7}, {.01, 12}, {.01, 16}, {.01, 21}, {.01, 26}},
     {{.01, 12}, {.01, 16}, {.02, 11}, {.02, 13}, {.03, 11}}},
    {"snow",
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
    {"frost",
     {{1, .2}, {1, .3}, {.9, .4}, {.85, .4}, {.75, .45}},
     {{1, .4}, {.8, .6}, {.7, .7}, {.65, .7}, {.6, .75}}},
    {"fog",
     {{.2, 3}, {.5, 3}, {.75, 2.5}, {1, 2}, {1.5, 1.75}},
     {{1.5, 2}, {2, 2}, {2.5, 1.7}, {2.5, 1.5}, {3, 1.4}}},
    {"brightness",
     {{.05}, {.1}, {.15}, {.2}, {.3}},
     {{.1}, {.2}, {.3}, {.4}, {.5}}},
    {"contrast",
     {{.75}, {.5}, {.4}, {.3}, {.15}},
     {{.4}, {.3}, {.2}, {.1}, {.05}}},
    {"elastic_transform",
     {{0, 0, 2.56},
      {1.6, 6.4, 2.24},
      {2.56, 1.92, 1.92},
      {3.2, 1.28, 1.6},
      {3.2, .96, .96}},
     {{488, 170.8, 24.4},
      {488, 19.52, 48.8},
      {12.2, 2.44, 4.88},
      {17.08, 2.44, 4.88},
      {29.28, 2.44, 4.88}}},
    {"pixelate",
     {{.95}, {.9}, {.85}, {.75}, {.65}},
     {{.6}, {.5}, {.4}, {.3}, {.25}}},
    {"jpeg_compression",
     {{80}, {65}, {58}, {50}, {40}},
     {{25}, {18}, {15}, {10}, {7}}},
    {"speckle_noise",
     {{.06}, {.1}, {.12}, {.16}, {.2}},
     {{.15}, {.2}, {.35}, {.45}, {.6}}},
    {"gaussian_blur", {{.4}, {.6}, {.7}, {.8}, {1}}, {{1}, {2}, {3}, {4}, {6}}},
    {"spatter",
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
    {"saturate",
     {{.3, 0}, {.1, 0}, {1.5, 0}, {2, .1}, {2.5, .2}},
     {{.3, 0}, {.1, 0}, {2, 0}, {5, .1}, {20, .2}}},
};

KindSetting setting(ConstantSet constants, int64_t severity) {
  KindSetting result;
  result.constants = constants;
  result.severity = severity;
  return result;
}

void expect_constants(const std::string& kind, const KindSetting& setting,
                      std::vector<double> expected) {
  expected.resize(kMaxConstants);
  const Constants found = severity_constants(kind, setting);
  for (size_t i = 0; i < kMaxConstants; ++i)
    EXPECT_DOUBLE_EQ(found[i], expected[i])
        << kind << ", severity " << setting.severity << ", constant " << i;
}

TEST(Constants, AreThePublishedOnesOfEveryKindAndSeverity) {
  std::vector<std::string> kinds;
  for (const PublishedRow& row : kPublished) {
    kinds.emplace_back(row.kind);
    for (int64_t severity = 1; severity <= kMaxSeverity; ++severity) {
      expect_constants(row.kind, setting(ConstantSet::kCifar, severity),
                       row.cifar[severity - 1]);
      expect_constants(row.kind, setting(ConstantSet::kImageNet, severity),
                       row.imagenet[severity - 1]);
    }
  }
  EXPECT_EQ(kinds, corruption_names());
}

TEST(Constants, AnUnknownKindIsAnError) {
  testing::expect_error(ErrorKind::kInvalid, "rain", [] {
    severity_constants("rain", setting(ConstantSet::kCifar, 1));
  });
}

}  // namespace
}  // namespace sotta
