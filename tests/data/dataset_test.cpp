#include "sotta/data/dataset.h"

#include <limits>
#include <stdexcept>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

// Three images of 1x2x2 pixels that count upwards, labelled 2, 0, 1.
LabelledImages three_images() {
  return {at::arange(12, at::kByte).reshape({3, 1, 2, 2}),
          at::tensor({2, 0, 1}, at::kLong)};
}

// Only the functions that every dataset must have, over three_images().
class MinimalDataset : public Dataset {
 public:
  int64_t size() const override { return all_.size(); }
  int64_t classes() const override { return all_.classes(); }
  ImageShape shape() const override { return all_.shape(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    return all_.get(indices);
  }

 private:
  TensorDataset all_{three_images(), 3, "three"};
};

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(TensorDataset, KnowsItsSizeClassesAndShape) {
  const TensorDataset dataset(three_images(), 10, "three");

  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(dataset.classes(), 10);
  EXPECT_EQ(dataset.shape().channels, 1);
  EXPECT_EQ(dataset.shape().height, 2);
  EXPECT_EQ(dataset.shape().width, 2);
}

TEST(TensorDataset, GivesImagesInTheOrderAsked) {
  const TensorDataset dataset(three_images(), 3, "three");

  const auto [images, labels] = dataset.get({2, 0, 2});

  EXPECT_TRUE(at::equal(labels, at::tensor({1, 2, 1}, at::kLong)));
  EXPECT_TRUE(at::equal(images[0], three_images().images[2]));
  EXPECT_TRUE(at::equal(images[1], three_images().images[0]));
}

TEST(TensorDataset, GivesNothingWhenAskedForNothing) {
  const TensorDataset dataset(three_images(), 3, "three");

  EXPECT_EQ(dataset.get({}).images.size(0), 0);
  EXPECT_EQ(dataset.range(1, 1).labels.size(0), 0);
}

TEST(TensorDataset, RangeIsAViewOfTheSameMemory) {
  const auto data = three_images();
  const TensorDataset dataset(data, 3, "three");

  const auto part = dataset.range(1, 3);

  EXPECT_EQ(part.images.data_ptr(), data.images[1].data_ptr());
  EXPECT_TRUE(at::equal(part.labels, at::tensor({0, 1}, at::kLong)));
}

TEST(TensorDataset, RefusesIndicesOutsideTheSet) {
  const TensorDataset dataset(three_images(), 3, "three");
  constexpr auto kLargest = std::numeric_limits<int64_t>::max();

  EXPECT_EQ(message_of([&] {
              dataset.get({0, 3});
            }),
            "Dataset: expected an index within 0 .. 2, got 3");
  EXPECT_EQ(message_of([&] { dataset.get({-1}); }),
            "Dataset: expected an index within 0 .. 2, got -1");
  EXPECT_THROW(dataset.get({kLargest}), Error);
  EXPECT_EQ(message_of([&] { dataset.range(2, 4); }),
            "Dataset: expected a range within 0 .. 3, got 2 .. 4");
  EXPECT_THROW(dataset.range(2, 1), Error);
  EXPECT_THROW(dataset.range(-1, 1), Error);
}

TEST(TensorDataset, RefusesTensorsThatDoNotFitTogether) {
  const auto build = [](at::Tensor images, at::Tensor labels) {
    return message_of([&] {
      TensorDataset({std::move(images), std::move(labels)}, 3, "three");
    });
  };
  const auto [images, labels] = three_images();

  EXPECT_EQ(build(images.to(at::kFloat), labels),
            "three: expected uint8 images [N, C, H, W]");
  EXPECT_EQ(build(images[0], labels),
            "three: expected uint8 images [N, C, H, W]");
  EXPECT_EQ(build(images, labels.to(at::kByte)),
            "three: expected int64 labels [N]");
  EXPECT_EQ(build(images, labels.slice(0, 0, 2)),
            "three: expected one label per image, got 3 images and 2 labels");
  EXPECT_EQ(build(images, labels.add(1)),
            "three: expected labels within 0 .. 2, got 3");
  EXPECT_EQ(build(images, labels.sub(1)),
            "three: expected labels within 0 .. 2, got -1");
}

TEST(TensorDataset, MayBeEmpty) {
  const TensorDataset dataset(
      {at::zeros({0, 3, 4, 4}, at::kByte), at::zeros({0}, at::kLong)}, 10,
      "empty");

  EXPECT_EQ(dataset.size(), 0);
}

TEST(Dataset, RangeIsMadeFromGetWhereADatasetHasNoBetterWay) {
  const MinimalDataset dataset;

  const auto part = dataset.range(1, 3);

  EXPECT_TRUE(at::equal(part.images, three_images().images.slice(0, 1, 3)));
  EXPECT_TRUE(at::equal(part.labels, at::tensor({0, 1}, at::kLong)));
  EXPECT_THROW(dataset.range(0, 4), Error);
}

TEST(Dataset, LabelsAreThoseOfAllImages) {
  const at::Tensor expected = at::tensor({2, 0, 1}, at::kLong);

  EXPECT_TRUE(at::equal(MinimalDataset().labels(), expected));
  EXPECT_TRUE(
      at::equal(TensorDataset(three_images(), 3, "three").labels(), expected));
}

}  // namespace
}  // namespace sotta
