#include "corrupt/kinds/frost.h"

#include <set>

#include <ATen/ops/full.h>

#include "sotta/corrupt/corruption.h"

#include "corrupt/frost/frost_texture.h"
#include "corrupt/kinds/constants.h"
#include "tests/corrupt/reference_draws.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// The picture that stood for the photographs when the golden values were made:
// uint8 [1, 3, 350, 527].
at::Tensor stand_in() {
  const at::Tensor picture = at::empty({1, 3, 350, 527}, at::kByte);
  auto* level = picture.data_ptr<uint8_t>();
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < 350; ++y)
      for (int64_t x = 0; x < 527; ++x)
        *level++ =
            static_cast<uint8_t>((7 * y + 13 * x + 50 * c + y * x / 11) % 256);
  return picture;
}

at::Tensor reference_choices(const at::Tensor& picture,
                             const std::vector<uint64_t>& streams,
                             int64_t side) {
  std::vector<at::Tensor> choices;
  for (const uint64_t stream : streams) {
    testing::ReferenceDraws source(stream);
    source.uniform();  // which picture: there is one
    const double top =
        source.integer(0, static_cast<double>(picture.size(2) - side));
    const double left =
        source.integer(0, static_cast<double>(picture.size(3) - side));
    const at::Tensor choice = at::empty({3}, at::kLong);
    choice[0] = 0;
    choice[1] = static_cast<int64_t>(top);
    choice[2] = static_cast<int64_t>(left);
    choices.push_back(choice);
  }
  return at::stack(choices);
}

TEST(Frost, MatchesThePublishedScript) {
  const testing::ReferenceImages golden("frost");
  const at::Tensor full = stand_in();
  const at::Tensor small = full.slice(2, 2, 350, 5).slice(3, 2, 527, 5);
  for (int severity = 1; severity <= 5; ++severity) {
    KindSetting setting;
    setting.severity = severity;
    auto weights = severity_constants("frost", setting);
    const at::Tensor found = lay_frost(
        golden.input(),
        frost_crops(small, reference_choices(small, {600, 601}, 32), 32),
        weights[0], weights[1]);
    testing::expect_same_bytes(found, golden.small(severity), 0);

    setting.constants = ConstantSet::kImageNet;
    weights = severity_constants("frost", setting);
    const at::Tensor large =
        lay_frost(testing::reference_picture(),
                  frost_crops(full, reference_choices(full, {10600}, 224), 224),
                  weights[0], weights[1]);
    testing::expect_same_bytes(testing::reference_sample(large),
                               golden.large(severity), 0);
  }
}

TEST(Frost, DrawsAllFivePicturesAndCropsInsideThem) {
  KindSetting setting;
  const auto kind = make_frost(setting);
  const int64_t heights[] = {120, 63, 63, 70, 99};
  const int64_t widths[] = {180, 112, 112, 105, 132};
  std::set<int64_t> seen;
  for (uint64_t image = 0; image < 300; ++image) {
    double values[3];
    Rng rng = Rng(3).child(image);

    kind->draw(rng, values);

    const auto picture = static_cast<int64_t>(values[0]);
    seen.insert(picture);
    ASSERT_LT(values[1], heights[picture] - 32);
    ASSERT_LT(values[2], widths[picture] - 32);
    ASSERT_GE(std::min(values[1], values[2]), 0);
  }
  EXPECT_EQ(seen, (std::set<int64_t>{0, 1, 2, 3, 4}));
}

// Draws of the ends of both ranges, over which nothing lies.
TEST(Frost, CropsReachBothEndsOfATexture) {
  const auto kind = make_frost({});
  double first_row = 99, last_row = 0, first_column = 99, last_column = 0;
  for (uint64_t image = 0; image < 4000; ++image) {
    double values[3];
    Rng rng = Rng(3).child(image);
    kind->draw(rng, values);
    if (values[0] != 3) continue;  // 70 x 105 pixels
    first_row = std::min(first_row, values[1]);
    last_row = std::max(last_row, values[1]);
    first_column = std::min(first_column, values[2]);
    last_column = std::max(last_column, values[2]);
  }
  EXPECT_EQ(first_row, 0);
  EXPECT_EQ(last_row, 70 - 32 - 1);
  EXPECT_EQ(first_column, 0);
  EXPECT_EQ(last_column, 105 - 32 - 1);
}

// Every fifth pixel of the texture from the third on, at each of the five.
TEST(Frost, TakesTheCropFromItsTopLeftCorner) {
  const auto kind = make_frost({});  // severity 5: .75 and .45
  const at::Tensor black = at::full({1, 3, 32, 32}, 0, at::kByte);
  const size_t texture_of[] = {0, 1, 1, 2, 3};
  const int64_t top = 21, left = 40;
  for (int64_t picture = 0; picture < 5; ++picture) {
    const at::Tensor& texture = procedural_frost()[texture_of[picture]];
    at::Tensor draws = at::full({1, 3}, 0, at::kDouble);
    draws[0][0] = picture;
    draws[0][1] = top;
    draws[0][2] = left;

    const at::Tensor found = kind->apply(black, {draws});

    for (const auto& [y, x] : {std::pair(0, 0), {0, 31}, {31, 0}, {17, 5}})
      for (int64_t c = 0; c < 3; ++c) {
        const int level =
            texture[2 + 5 * (top + y)][2 + 5 * (left + x)][c].item<int>();
        EXPECT_EQ(found[0][c][y][x].item<int>(), static_cast<int>(level * .45))
            << picture << " " << y << " " << x << " " << c;
      }
  }
}

TEST(Frost, TakesLargeTexturesWhereSmallOnesDoNotFit) {
  KindSetting setting;
  setting.side = 64;
  const auto kind = make_frost(setting);
  const at::Tensor images = at::full({1, 3, 64, 64}, 10, at::kByte);
  at::Tensor draws = at::full({1, 3}, 0, at::kDouble);
  draws[0][0] = 1;
  draws[0][1] = 250;
  const at::Tensor& texture = procedural_frost()[1];

  const at::Tensor found = kind->apply(images, {draws});

  ASSERT_EQ(found.sizes(), images.sizes());
  EXPECT_EQ(found[0][2][7][60].item<int>(),
            static_cast<int>(10 * .75 + texture[257][60][2].item<int>() * .45));
}

TEST(Frost, SmallTexturesFitUpToASideOf62) {
  for (const int64_t side : {62, 63}) {
    KindSetting setting;
    setting.side = side;
    const auto kind = make_frost(setting);
    double highest = 0;
    for (uint64_t image = 0; image < 500; ++image) {
      double values[3];
      Rng rng = Rng(3).child(image);
      kind->draw(rng, values);
      highest = std::max(highest, values[1]);
    }
    EXPECT_EQ(highest > 120, side == 63) << side;  // rows of the reduced one
  }
}

TEST(Frost, SaysWhereItsTexturesComeFrom) {
  CorruptionOptions options;
  EXPECT_EQ(frost_source(options), "procedural");
  options.frost_dir = "pictures";
  EXPECT_EQ(frost_source(options), "photographs");
}

TEST(Frost, RefusesImagesLargerThanItsTextures) {
  KindSetting setting;
  setting.side = 315;
  setting.constants = ConstantSet::kImageNet;

  testing::expect_error(ErrorKind::kInvalid, "fewer than 315",
                        [&] { make_frost(setting); });
  setting.side = 314;
  EXPECT_NO_THROW(make_frost(setting));
}

}  // namespace
}  // namespace sotta
