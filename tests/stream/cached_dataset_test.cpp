#include "stream/cached_dataset.h"

#include <atomic>

#include <gtest/gtest.h>

#include "sotta/core/threads.h"

#include "tests/stream/numbered_images.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::numbered_images;

// Counts how many images were read.
class CountingImages : public Dataset {
 public:
  int64_t size() const override { return images_->size(); }
  int64_t classes() const override { return images_->classes(); }
  ImageShape shape() const override { return images_->shape(); }
  at::Tensor labels() const override { return images_->labels(); }
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    read += static_cast<int64_t>(indices.size());
    return images_->get(indices);
  }

  mutable std::atomic<int64_t> read{0};

 private:
  std::shared_ptr<const Dataset> images_ = numbered_images(500, 3);
};

TEST(CachedDataset, ReadsAnImageOnce) {
  const auto images = std::make_shared<CountingImages>();
  const CachedDataset cached(images);

  const LabelledImages first = cached.get({7, 300, 7});
  const LabelledImages again = cached.get({8, 7, 300});

  EXPECT_EQ(images->read, 3);
  const LabelledImages expected = images->get({7, 300, 7});
  EXPECT_TRUE(first.images.equal(expected.images));
  EXPECT_TRUE(first.labels.equal(expected.labels));
  EXPECT_TRUE(again.images.equal(images->get({8, 7, 300}).images));
}

TEST(CachedDataset, IsTheSameDataset) {
  const auto images = std::make_shared<CountingImages>();
  const CachedDataset cached(images);

  EXPECT_EQ(cached.size(), 500);
  EXPECT_EQ(cached.classes(), 10);
  EXPECT_EQ(cached.shape().channels, 3);
  EXPECT_TRUE(cached.labels().equal(images->labels()));
  EXPECT_TRUE(cached.range(0, 500).images.equal(images->range(0, 500).images));
}

TEST(CachedDataset, ServesSeveralThreadsAtOnce) {
  const auto images = std::make_shared<CountingImages>();
  const CachedDataset cached(images);
  std::atomic<int> wrong{0};

  run_in_threads(40, 4, [&](int64_t turn) {
    const int64_t begin = turn * 11;
    const at::Tensor got = cached.range(begin, begin + 60).images;
    wrong +=
        !got.equal(numbered_images(500, 3)->range(begin, begin + 60).images);
  });

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(images->read, 39 * 11 + 60);  // each image once
}

// Cannot be read so many times.
class FailingImages : public CountingImages {
 public:
  explicit FailingImages(int64_t failures) : failures_(failures) {}
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    if (failures_-- > 0) fail(ErrorKind::kIo, "disk", "is away");
    return CountingImages::get(indices);
  }

 private:
  mutable std::atomic<int64_t> failures_;
};

TEST(CachedDataset, ReadsAgainWhatCouldNotBeRead) {
  const CachedDataset cached(std::make_shared<FailingImages>(2));
  std::atomic<int> failed{0}, wrong{0};

  run_in_threads(8, 4, [&](int64_t) {
    try {
      wrong += !cached.range(0, 60).images.equal(
          numbered_images(500, 3)->range(0, 60).images);
    } catch (const Error&) {
      ++failed;
    }
  });

  EXPECT_EQ(failed, 2);
  EXPECT_EQ(wrong, 0);
}

TEST(CachedDataset, RefusesWhatIsNotThere) {
  const CachedDataset cached(numbered_images(5, 0));

  expect_error(ErrorKind::kInvalid, "within 0 .. 4, got 5",
               [&] { cached.get({5}); });
}

TEST(CachedDataset, KeepsEveryImageInItsPlace) {
  const auto images = std::make_shared<CountingImages>();
  const CachedDataset cached(images);
  const std::vector<int64_t> order = {499, 0, 256, 255, 0, 499, 1};

  for (int turn = 0; turn < 2; ++turn) {
    const LabelledImages got = cached.get(order);
    const LabelledImages expected = numbered_images(500, 3)->get(order);
    EXPECT_TRUE(got.images.equal(expected.images));
    EXPECT_TRUE(got.labels.equal(expected.labels));
  }

  EXPECT_EQ(images->read, 5);
  EXPECT_EQ(cached.get({}).images.size(0), 0);
  EXPECT_EQ(images->read, 5);
}

// Gives an image for whatever index.
class AnyImages : public CountingImages {
 public:
  LabelledImages get(const std::vector<int64_t>& indices) const override {
    return CountingImages::get(std::vector<int64_t>(indices.size(), 0));
  }
};

TEST(CachedDataset, LooksAtIndicesItself) {
  const CachedDataset cached(std::make_shared<AnyImages>());

  for (const int64_t index : {-1, 500})
    expect_error(ErrorKind::kInvalid,
                 "within 0 .. 499, got " + std::to_string(index), [&] {
                   cached.get({0, index});
                 });
}

}  // namespace
}  // namespace sotta
