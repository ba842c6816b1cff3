#include "corrupt/write_corrupted.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "data/formats/npy.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::TempDir;

// Six images of 16x16 pixels, labelled 0 to 5.
TensorDataset six_images() {
  return {{at::arange(6 * 3 * 16 * 16, at::kLong)
               .remainder(251)
               .to(at::kByte)
               .view({6, 3, 16, 16}),
           at::arange(6, at::kLong)},
          10,
          "six"};
}

CorruptedFile noise_at(std::vector<int64_t> severities, int64_t images) {
  CorruptedFile file;
  file.options.kind = "gaussian_noise";
  file.severities = std::move(severities);
  file.images = images;
  return file;
}

bool go_on(const Progress&) {
  return true;
}

TEST(WriteCorrupted, WritesSeverityAfterSeverity) {
  const TempDir dir;
  const auto path = dir.path() / "gaussian_noise.npy";
  const CorruptedFile file = noise_at({2, 5}, 4);

  ASSERT_TRUE(write_corrupted(six_images(), file, at::kCPU, path, go_on));

  const at::Tensor found = to_tensor(read_npy(path));
  ASSERT_EQ(found.sizes(), (at::IntArrayRef{8, 16, 16, 3}));
  for (const int64_t block : {0, 1}) {
    CorruptionOptions options = file.options;
    options.severity = file.severities[static_cast<size_t>(block)];
    const at::Tensor expected =
        Corruption(options, 16)
            .apply(six_images().range(0, 4).images, {0, 1, 2, 3});
    EXPECT_TRUE(
        found.narrow(0, 4 * block, 4).permute({0, 3, 1, 2}).equal(expected));
  }
}

// A million pixels at a time: four of these images.
TEST(WriteCorrupted, WritesManyImagesInPartsWithTheirOwnIndices) {
  const TempDir dir;
  const auto path = dir.path() / "large.npy";
  const TensorDataset five(
      {at::full({5, 1, 512, 512}, 90, at::kByte), at::arange(5, at::kLong)}, 10,
      "five");
  std::vector<int64_t> done;

  ASSERT_TRUE(write_corrupted(five, noise_at({3}, 5), at::kCPU, path,
                              [&](const Progress& progress) {
                                done.push_back(progress.done);
                                return true;
                              }));

  EXPECT_EQ(done, (std::vector<int64_t>{0, 4, 5}));
  CorruptionOptions options = noise_at({3}, 5).options;
  options.severity = 3;
  const at::Tensor found = to_tensor(read_npy(path));
  for (const int64_t image : {3, 4}) {
    const at::Tensor expected =
        Corruption(options, 512)
            .apply(five.range(image, image + 1).images, {image});
    EXPECT_TRUE(found[image].select(2, 0).equal(expected[0][0])) << image;
  }
}

TEST(WriteCorrupted, NobodyNeedsToBeTold) {
  const TempDir dir;
  const auto path = dir.path() / "quiet.npy";
  EXPECT_TRUE(write_corrupted(six_images(), noise_at({2}, 4), at::kCPU, path,
                              ProgressCallback()));
  EXPECT_EQ(read_npy(path).shape, (std::vector<int64_t>{4, 16, 16, 3}));
}

TEST(WriteCorrupted, RepeatsTheLabelsForEachSeverity) {
  const TempDir dir;
  const auto path = dir.path() / "labels.npy";

  write_corrupted_labels(six_images(), noise_at({1, 3}, 2), path);

  const Array labels = read_npy(path);
  EXPECT_EQ(labels.type, ElementType::kUint8);
  ASSERT_EQ(labels.shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(labels.as<uint8_t>()[1], 1);
  EXPECT_EQ(labels.as<uint8_t>()[2], 0);
}

TEST(WriteCorrupted, LabelsOfMoreThan256ClassesAreWide) {
  const TempDir dir;
  const auto path = dir.path() / "labels.npy";
  const at::Tensor images = at::full({2, 1, 16, 16}, 90, at::kByte);
  const at::Tensor labels = at::arange(255, 257, at::kLong);

  write_corrupted_labels(TensorDataset({images, labels - 1}, 256, "narrow"),
                         noise_at({1}, 2), path);
  EXPECT_EQ(read_npy(path).type, ElementType::kUint8);
  EXPECT_EQ(read_npy(path).as<uint8_t>()[1], 255);

  write_corrupted_labels(TensorDataset({images, labels}, 257, "wide"),
                         noise_at({1}, 2), path);
  ASSERT_EQ(read_npy(path).type, ElementType::kInt64);
  EXPECT_EQ(read_npy(path).as<int64_t>()[1], 256);
}

TEST(WriteCorrupted, CountsUpAndLeavesNothingWhenStopped) {
  const TempDir dir;
  std::vector<int64_t> done;

  const bool finished =
      write_corrupted(six_images(), noise_at({1, 2}, 6), at::kCPU,
                      dir.path() / "a.npy", [&](const Progress& progress) {
                        EXPECT_EQ(progress.total, 12);
                        done.push_back(progress.done);
                        return progress.done < 6;
                      });

  EXPECT_FALSE(finished);
  EXPECT_EQ(done, (std::vector<int64_t>{0, 6}));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(WriteCorrupted, RefusesMoreImagesThanThereAre) {
  const TempDir dir;
  testing::expect_error(
      ErrorKind::kInvalid, "up to 6 images, asked for 7", [&] {
        write_corrupted(six_images(), noise_at({1}, 7), at::kCPU,
                        dir.path() / "a.npy", go_on);
      });
  testing::expect_error(ErrorKind::kInvalid, "up to 6 images, asked for 7",
                        [&] {
                          write_corrupted_labels(six_images(), noise_at({1}, 7),
                                                 dir.path() / "labels.npy");
                        });
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace sotta
