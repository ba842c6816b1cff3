#include "sotta/corrupt/corruption.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "corrupt/filters/draws.h"
#include "corrupt/filters/jpeg_round_trip.h"
#include "corrupt/kinds/kind.h"
#include "tests/support/expect_error.h"
#include "tests/support/number_lists.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

using testing::counting;

// A few colours in stripes, another pattern for each image.
at::Tensor striped_images(int64_t count, int64_t channels, int64_t side) {
  const at::Tensor steps =
      at::arange(count * channels * side * side, at::kLong);
  return (steps * 37 / 5)
      .remainder(251)
      .to(at::kByte)
      .view({count, channels, side, side});
}

Corruption corruption(const std::string& kind, int64_t side = 32,
                      int64_t seed = 0) {
  CorruptionOptions options;
  options.kind = kind;
  options.seed = seed;
  return Corruption(options, side);
}

class EveryKind : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryKind, DependsNeitherOnBatchNorOnOrder) {
  const at::Tensor images = striped_images(5, 3, 32);
  const Corruption corrupt = corruption(GetParam());

  const at::Tensor all = corrupt.apply(images, counting(5, 10));

  const at::Tensor alone = corrupt.apply(images.narrow(0, 3, 1), {13});
  EXPECT_TRUE(alone[0].equal(all[3]));
  const at::Tensor reversed =
      corrupt.apply(images.flip(0), {14, 13, 12, 11, 10});
  EXPECT_TRUE(reversed.flip(0).equal(all));
  EXPECT_FALSE(all.equal(images));
}

// 12 images of this size are done in two chunks.
TEST_P(EveryKind, DependsNotOnTheNumberOfThreads) {
  const at::Tensor images = striped_images(12, 3, 32);
  const Corruption corrupt = corruption(GetParam());
  testing::expect_same_bits_at_any_thread_count(
      [&] { return corrupt.apply(images, counting(12)); });
}

TEST_P(EveryKind, DependsNotOnTheChunksItIsDoneIn) {
  const at::Tensor images = striped_images(12, 3, 32);
  const Corruption corrupt = corruption(GetParam());

  const at::Tensor all = corrupt.apply(images, counting(12));

  const at::Tensor parts =
      at::cat({corrupt.apply(images.narrow(0, 0, 7), counting(7)),
               corrupt.apply(images.narrow(0, 7, 5), counting(5, 7))});
  EXPECT_TRUE(all.equal(parts));
}

// Operations on one large image are shared out by LibTorch.
TEST_P(EveryKind, DependsNotOnTheThreadsForALargeImage) {
  const at::Tensor image = striped_images(1, 3, 106);
  CorruptionOptions options;
  options.kind = GetParam();
  options.severity = 1;
  const Corruption corrupt(options, 106);
  testing::expect_same_bits_at_any_thread_count(
      [&] { return corrupt.apply(image, {5}); });
}

TEST_P(EveryKind, TakesGreyImagesOfOddSizes) {
  const at::Tensor images = striped_images(2, 1, 28);

  const at::Tensor found =
      corruption(GetParam(), 28).apply(images, counting(2));

  EXPECT_EQ(found.sizes(), images.sizes());
  EXPECT_EQ(found.scalar_type(), at::kByte);
  EXPECT_FALSE(found.equal(images));
}

INSTANTIATE_TEST_SUITE_P(Corruption, EveryKind,
                         ::testing::ValuesIn(corruption_names()),
                         [](const auto& tried) { return tried.param; });

TEST(Corruption, AnotherSeedOrIndexDrawsAnew) {
  const at::Tensor image = striped_images(1, 3, 32);
  const at::Tensor found = corruption("gaussian_noise").apply(image, {0});

  EXPECT_FALSE(corruption("gaussian_noise").apply(image, {1}).equal(found));
  EXPECT_FALSE(
      corruption("gaussian_noise", 32, 1).apply(image, {0}).equal(found));
  EXPECT_TRUE(corruption("gaussian_noise").apply(image, {0}).equal(found));
}

// A seed reaches an image through the kind, the severity and the index; were
// one of them left out, two corruptions would share their noise.
TEST(Corruption, DrawsFromSeedKindSeverityAndIndex) {
  const at::Tensor image = striped_images(1, 3, 32);
  for (const std::string name : {"gaussian_noise", "speckle_noise"})
    for (const int64_t severity : {2, 4}) {
      CorruptionOptions options;
      options.kind = name;
      options.severity = severity;
      options.seed = 11;
      KindSetting setting;
      setting.severity = severity;
      const auto kind = make_kind(name, setting);
      const Rng stream = Rng(11).child("corrupt").child(name).child(
          static_cast<uint64_t>(severity));

      const at::Tensor found = Corruption(options, 32).apply(image, {9});

      EXPECT_TRUE(found.equal(
          kind->apply(image, draw_for_images(*kind, stream, {9}, at::kCPU))))
          << name << " " << severity;
    }
}

// Brightness adds .05 with the small images' constants and .1 with the large
// ones'.
TEST(Corruption, SidesUpTo64HaveTheConstantsOfSmallImages) {
  CorruptionOptions options;
  options.kind = "brightness";
  options.severity = 1;
  options.jpeg85 = false;
  const auto corrupted = [&](int64_t side) {
    const at::Tensor grey = at::full({1, 3, side, side}, 100, at::kByte);
    return Corruption(options, side).apply(grey, {0}).max().item<int>();
  };
  EXPECT_EQ(corrupted(8), 112);
  EXPECT_EQ(corrupted(64), 112);
  EXPECT_EQ(corrupted(65), 125);
}

TEST(Corruption, ImagesOfSide64AreNotStoredAsJpeg) {
  CorruptionOptions options;
  options.kind = "contrast";
  for (const int64_t side : {64, 65}) {
    const at::Tensor image = striped_images(1, 3, side);
    options.jpeg85 = true;
    const at::Tensor stored = Corruption(options, side).apply(image, {0});
    options.jpeg85 = false;
    const at::Tensor plain = Corruption(options, side).apply(image, {0});
    EXPECT_EQ(stored.equal(plain), side == 64) << side;
  }
}

// Mud is brown: the channels differ.
TEST(Corruption, AGreyImageBecomesTheGreenChannelOfThreeEqualOnes) {
  const at::Tensor grey = striped_images(1, 1, 32);
  const Corruption corrupt = corruption("spatter");

  const at::Tensor coloured = corrupt.apply(grey.expand({1, 3, 32, 32}), {4});

  EXPECT_TRUE(corrupt.apply(grey, {4})[0][0].equal(coloured[0][1]));
  EXPECT_FALSE(coloured[0][0].equal(coloured[0][1]));
  EXPECT_FALSE(coloured[0][2].equal(coloured[0][1]));
}

TEST(Corruption, LargeImagesAreStoredAsJpeg) {
  const at::Tensor image = striped_images(1, 3, 80);
  CorruptionOptions options;
  options.kind = "contrast";
  options.jpeg85 = false;
  const at::Tensor plain = Corruption(options, 80).apply(image, {0});

  const at::Tensor stored = corruption("contrast", 80).apply(image, {0});

  EXPECT_TRUE(stored.equal(JpegRoundTrip(85)(plain)));
  EXPECT_FALSE(stored.equal(plain));
}

TEST(Corruption, AnEmptyBatchStaysEmpty) {
  const at::Tensor none = striped_images(0, 3, 32);
  EXPECT_EQ(corruption("fog").apply(none, {}).size(0), 0);
}

TEST(Corruption, RefusesSeveritiesAndSidesOutOfRange) {
  CorruptionOptions options;
  for (const int64_t severity : {0, 6}) {
    options.severity = severity;
    testing::expect_error(ErrorKind::kInvalid, "1 .. 5, got",
                          [&] { Corruption(options, 32); });
  }
  for (const int64_t severity : {1, 5}) {
    options.severity = severity;
    EXPECT_NO_THROW(Corruption(options, 32));
  }
  testing::expect_error(ErrorKind::kInvalid, "at least 8 pixels",
                        [] { corruption("fog", 7); });
  EXPECT_NO_THROW(corruption("fog", 8));
}

TEST(Corruption, RefusesOtherTypesShapesAndCounts) {
  const Corruption corrupt = corruption("contrast");
  const at::Tensor images = striped_images(2, 3, 32);
  testing::expect_error(ErrorKind::kInvalid, "got Float [2, 3, 32, 32]", [&] {
    corrupt.apply(images.to(at::kFloat), {0, 1});
  });
  testing::expect_error(ErrorKind::kInvalid, "[N, 1 or 3, 32, 32]", [&] {
    corrupt.apply(striped_images(2, 2, 32), {0, 1});
  });
  testing::expect_error(ErrorKind::kInvalid, "got 1 for 2 images",
                        [&] { corrupt.apply(images, {0}); });
}

}  // namespace
}  // namespace sotta
