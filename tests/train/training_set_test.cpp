#include "train/training_set.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// More than are read at once; pixel values say which image it is.
TensorDataset numbered_images(int64_t count) {
  const at::Tensor numbers = at::arange(count).remainder(251) + 1;
  return {{numbers.to(at::kByte).view({-1, 1, 1, 1}).expand({-1, 2, 3, 4}),
           at::arange(count).remainder(5)},
          5,
          "numbered"};
}

TEST(TrainingSet, HoldsEveryImageInABlackBorder) {
  const auto data = numbered_images(2500);
  const TrainingSet set = load_training_set(data, 2, at::kCPU);

  EXPECT_EQ(set.images.sizes(), at::IntArrayRef({2500, 2, 7, 8}));
  EXPECT_EQ(set.size(), 2500);
  EXPECT_EQ(set.classes, 5);
  EXPECT_EQ(set.shape().height, 3);
  EXPECT_EQ(set.shape().width, 4);
  const LabelledImages all = data.range(0, 2500);
  EXPECT_TRUE(set.labels.equal(all.labels));
  const at::Tensor inside = set.images.narrow(2, 2, 3).narrow(3, 2, 4);
  EXPECT_TRUE(inside.equal(all.images));
  inside.zero_();
  EXPECT_EQ(set.images.max().item<int64_t>(), 0);
}

TEST(TrainingSet, TooLargeASetIsRefusedWithItsSize) {
  const auto data = numbered_images(100);  // 100 * 2 * 3 * 4 bytes
  EXPECT_NO_THROW(load_training_set(data, 0, at::kCPU, 2400));
  testing::expect_error(
      ErrorKind::kUnsupported,
      "training images: 100 of 3 x 4 pixels take 0.1 GiB in memory",
      [&] { load_training_set(data, 0, at::kCPU, 2399); });
}

// Its bytes are more than an int64_t can count.
TEST(TrainingSet, PaddingOutOfRangeIsRefused) {
  for (const int64_t padding : {int64_t{-1}, int64_t{1} << 40})
    testing::expect_error(
        ErrorKind::kInvalid, "padding: expected 0 to 4096",
        [&] { load_training_set(numbered_images(100), padding, at::kCPU); });
}

TEST(TrainingSet, EmptySetIsRefused) {
  const TensorDataset none(
      {at::zeros({0, 1, 2, 2}, at::kByte), at::zeros({0}, at::kLong)}, 2,
      "none");
  testing::expect_error(ErrorKind::kInvalid, "at least one",
                        [&] { load_training_set(none, 0, at::kCPU); });
}

TEST(TrainingSet, TellsHowFarItIsAndCanBeStopped) {
  std::vector<int64_t> seen;
  testing::expect_error(ErrorKind::kIo, "interrupted", [&] {
    load_training_set(numbered_images(2500), 0, at::kCPU, kTrainingSetBytes,
                      [&](const Progress& progress) {
                        seen.push_back(progress.done);
                        EXPECT_EQ(progress.total, 2500);
                        return progress.done < 2000;
                      });
  });
  EXPECT_EQ(seen, (std::vector<int64_t>{1024, 2048}));
}

TEST(TrainingSet, SaysHowMuchMemoryItNeedsInTenthsRoundedUp) {
  const auto message = [](int64_t max_bytes) {
    try {
      load_training_set(numbered_images(100), 0, at::kCPU, max_bytes);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(0),
            "training images: 100 of 3 x 4 pixels take 0.1 GiB in memory, at "
            "most 0 GiB are allowed");
  EXPECT_EQ(message(1),
            "training images: 100 of 3 x 4 pixels take 0.1 GiB in memory, at "
            "most 0.1 GiB are allowed");
}

TEST(TrainingSet, CountsTheBorderOnEverySide) {
  const auto data = numbered_images(100);
  const int64_t bytes = 100 * 2 * (3 + 2) * (4 + 2);
  EXPECT_NO_THROW(load_training_set(data, 1, at::kCPU, bytes));
  EXPECT_THROW(load_training_set(data, 1, at::kCPU, bytes - 1), Error);
}

TEST(TrainingSet, ReadsWholePiecesAndTheRest) {
  for (const int64_t count : {1, 1023, 1024, 1025}) {
    std::vector<int64_t> seen;
    const TrainingSet set =
        load_training_set(numbered_images(count), 0, at::kCPU,
                          kTrainingSetBytes, [&](const Progress& progress) {
                            seen.push_back(progress.done);
                            EXPECT_EQ(progress.note, "reading images");
                            return true;
                          });
    EXPECT_EQ(seen.size(), count > 1024 ? 2u : 1u);
    EXPECT_EQ(seen.back(), count);
    EXPECT_EQ(set.images[count - 1].max().item<int64_t>(),
              (count - 1) % 251 + 1);
  }
}

}  // namespace
}  // namespace sotta
