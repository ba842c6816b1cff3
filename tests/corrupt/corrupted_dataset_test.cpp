#include "corrupt/corrupted_dataset.h"

#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "data/formats/npy.h"
#include "data/tensor.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

at::Tensor grey_levels(int64_t count) {
  return (at::arange(count, at::kByte) * 20)
      .view({-1, 1, 1, 1})
      .expand({count, 3, 32, 32});
}

std::shared_ptr<const Dataset> clean_images() {
  return std::make_shared<TensorDataset>(
      LabelledImages{grey_levels(4).contiguous(), at::arange(4, at::kLong)}, 10,
      "clean");
}

// Image i at severity s is all 10 * s + i.
void write_published(const testing::TempDir& root, int64_t rows) {
  const auto folder = root.path() / "CIFAR-10-C";
  std::filesystem::create_directories(folder);
  const at::Tensor severity = at::arange(1, 6, at::kByte).view({5, 1}) * 10;
  const at::Tensor levels = severity + at::arange(2, at::kByte);
  const at::Tensor images =
      levels.view({10, 1, 1, 1}).expand({10, 32, 32, 3}).narrow(0, 0, rows);
  write_npy(folder / "fog.npy", to_array(images));
  write_npy(folder / "labels.npy", to_array(at::full({rows}, 3, at::kByte)));
}

CorruptionOptions options_for(const std::string& kind, int64_t severity) {
  CorruptionOptions options;
  options.kind = kind;
  options.severity = severity;
  return options;
}

TEST(CorruptedDataset, CorruptsWithTheIndexAsSeed) {
  const auto options = options_for("gaussian_noise", 5);
  const CorruptedDataset noisy(clean_images(), options);

  const LabelledImages found = noisy.get({2, 0});

  const at::Tensor clean = grey_levels(4);
  const at::Tensor expected =
      Corruption(options, 32).apply(clean.contiguous(), {0, 1, 2, 3});
  EXPECT_TRUE(found.images[0].equal(expected[2]));
  EXPECT_TRUE(found.images[1].equal(expected[0]));
  EXPECT_EQ(found.labels[0].item<int64_t>(), 2);
  EXPECT_TRUE(noisy.range(1, 4).images.equal(expected.narrow(0, 1, 3)));
  EXPECT_EQ(noisy.size(), 4);
  EXPECT_EQ(noisy.classes(), 10);
}

// Knows its labels and refuses to give an image.
class LabelsOnly : public Dataset {
 public:
  int64_t size() const override { return 4; }
  int64_t classes() const override { return 10; }
  ImageShape shape() const override { return {3, 32, 32}; }
  at::Tensor labels() const override { return at::arange(4, at::kLong); }
  LabelledImages get(const std::vector<int64_t>&) const override {
    throw std::logic_error("no image was asked for");
  }
};

TEST(CorruptedDataset, KnowsItsLabelsWithoutCorruptingImages) {
  const CorruptedDataset foggy(std::make_shared<LabelsOnly>(),
                               options_for("fog", 1));

  EXPECT_TRUE(foggy.labels().equal(at::arange(4, at::kLong)));
}

TEST(CorruptedDataset, PassesSeedAndSeverityOn) {
  auto options = options_for("gaussian_noise", 2);
  options.seed = 5;
  const CorruptedDataset noisy(clean_images(), options);

  const at::Tensor expected =
      Corruption(options, 32).apply(grey_levels(4).contiguous(), {0, 1, 2, 3});
  EXPECT_TRUE(noisy.range(0, 4).images.equal(expected));
  options.seed = 6;
  EXPECT_FALSE(CorruptedDataset(clean_images(), options)
                   .range(0, 4)
                   .images.equal(expected));
}

TEST(CorruptedDataset, RefusesImagesThatAreNotSquare) {
  const auto wide = std::make_shared<TensorDataset>(
      LabelledImages{at::zeros({1, 3, 32, 40}, at::kByte),
                     at::zeros({1}, at::kLong)},
      10, "wide");
  testing::expect_error(ErrorKind::kInvalid, "square, got 32 x 40",
                        [&] { CorruptedDataset(wide, options_for("fog", 1)); });
}

TEST(OpenPublishedCorruption, IsNullWithoutTheFiles) {
  const testing::TempDir root;
  EXPECT_EQ(open_published_corruption("cifar10", root.path(), "fog", 4),
            nullptr);
  EXPECT_EQ(open_published_corruption("mnist", root.path(), "fog", 4), nullptr);
  write_published(root, 10);

  EXPECT_NE(open_published_corruption("cifar10", root.path(), "fog", 4),
            nullptr);
  EXPECT_EQ(open_published_corruption("cifar10", root.path(), "snow", 4),
            nullptr);
}

TEST(OpenPublishedCorruption, TakesTheSeveritysRows) {
  const testing::TempDir root;
  write_published(root, 10);

  const auto images =
      open_published_corruption("cifar10", root.path(), "fog", 4);

  ASSERT_EQ(images->size(), 2);
  const LabelledImages found = images->get({1});
  EXPECT_TRUE(found.images.equal(at::full({1, 3, 32, 32}, 41, at::kByte)));
  EXPECT_EQ(found.labels.item<int64_t>(), 3);
}

TEST(OpenPublishedCorruption, RefusesAFileThatDoesNotHoldFiveSeverities) {
  const testing::TempDir root;
  write_published(root, 8);
  testing::expect_error(ErrorKind::kBadFormat, "five severities", [&] {
    open_published_corruption("cifar10", root.path(), "fog", 4);
  });
}

TEST(OpenPublishedCorruption, IsNullIfOnlyTheImagesAreThere) {
  const testing::TempDir root;
  write_published(root, 10);
  std::filesystem::remove(root.path() / "CIFAR-10-C" / "labels.npy");

  EXPECT_EQ(open_published_corruption("cifar10", root.path(), "fog", 4),
            nullptr);
}

TEST(OpenPublishedCorruption, RefusesImagesOfAnotherShapeOrType) {
  const testing::TempDir root;
  write_published(root, 10);
  const auto file = root.path() / "CIFAR-10-C" / "fog.npy";
  for (const at::Tensor& images : {at::zeros({10, 32, 31, 3}, at::kByte),
                                   at::zeros({10, 31, 32, 3}, at::kByte),
                                   at::zeros({10, 32, 32, 1}, at::kByte),
                                   at::zeros({10, 32, 96}, at::kByte),
                                   at::zeros({10, 32, 32, 3}, at::kFloat)}) {
    write_npy(file, to_array(images));
    testing::expect_error(ErrorKind::kBadFormat, "[5 * N, 32, 32, 3]", [&] {
      open_published_corruption("cifar10", root.path(), "fog", 1);
    });
  }
}

TEST(OpenPublishedCorruption, RefusesAnotherNumberOfLabels) {
  const testing::TempDir root;
  write_published(root, 10);
  const auto file = root.path() / "CIFAR-10-C" / "labels.npy";
  for (const at::Tensor& labels :
       {at::zeros({9}, at::kByte), at::zeros({10, 1}, at::kByte)}) {
    write_npy(file, to_array(labels));
    testing::expect_error(
        ErrorKind::kBadFormat, "one label for each of the 10 images",
        [&] { open_published_corruption("cifar10", root.path(), "fog", 1); });
  }
}

TEST(OpenPublishedCorruption, ChecksTheSeverityBeforeAnyFile) {
  const testing::TempDir root;
  testing::expect_error(ErrorKind::kInvalid, "got 9", [&] {
    open_published_corruption("cifar10", root.path(), "fog", 9);
  });
}

}  // namespace
}  // namespace sotta
