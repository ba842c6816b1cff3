#include "stream/read_ahead.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

namespace sotta {
namespace {

// Image i is the number i.
at::Tensor numbers(int64_t begin, int64_t end) {
  return at::arange(begin, end, at::kLong);
}

at::Tensor take(ReadAhead& reader, int64_t count) {
  const at::Tensor images = at::empty({count}, at::kLong);
  reader.take(images);
  return images;
}

TEST(ReadAhead, GivesTheImagesInOrderHoweverTheyAreCut) {
  ReadAhead reader(numbers, 5, 105, 16);

  EXPECT_TRUE(take(reader, 1).equal(numbers(5, 6)));
  EXPECT_TRUE(take(reader, 50).equal(numbers(6, 56)));
  EXPECT_TRUE(take(reader, 0).equal(numbers(0, 0)));
  EXPECT_TRUE(take(reader, 7).equal(numbers(56, 63)));
  EXPECT_TRUE(take(reader, 42).equal(numbers(63, 105)));
}

// Images that count how many of them there are.
class CountedImages {
 public:
  at::Tensor make(int64_t begin, int64_t end) {
    live_ += end - begin;
    most_ = std::max<int64_t>(most_, live_);
    auto* values = new int64_t[static_cast<size_t>(end - begin)];
    std::iota(values, values + (end - begin), begin);
    return at::from_blob(
        values, {end - begin},
        [this, values, begin, end](void*) {
          delete[] values;
          live_ -= end - begin;
        },
        at::kLong);
  }
  int64_t live() const { return live_; }
  int64_t most() const { return most_; }

 private:
  std::atomic<int64_t> live_{0};
  std::atomic<int64_t> most_{0};
};

TEST(ReadAhead, NeverHoldsMoreThanItsCapacity) {
  for (const int64_t capacity : {1, 3, 8, 64}) {
    CountedImages images;
    {
      ReadAhead reader(
          [&](int64_t begin, int64_t end) { return images.make(begin, end); },
          0, 1000, capacity);
      for (int64_t i = 0; i < 1000; i += 5)
        EXPECT_TRUE(take(reader, 5).equal(numbers(i, i + 5)));
    }

    EXPECT_LE(images.most(), capacity);
    EXPECT_EQ(images.live(), 0);
  }
}

TEST(ReadAhead, FailsAtTheImageThatCannotBeRead) {
  const auto read = [](int64_t begin, int64_t end) {
    if (begin <= 33 && 33 < end) throw std::runtime_error("image 33 is broken");
    return numbers(begin, end);
  };
  ReadAhead reader(read, 0, 100, 40);

  EXPECT_TRUE(take(reader, 30).equal(numbers(0, 30)));
  EXPECT_TRUE(take(reader, 3).equal(numbers(30, 33)));
  try {
    take(reader, 1);
    ADD_FAILURE() << "expected an error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "image 33 is broken");
  }
}

TEST(ReadAhead, AFailureThatNobodyAsksForIsNone) {
  ReadAhead reader(
      [](int64_t, int64_t) -> at::Tensor { throw std::runtime_error("no"); }, 0,
      100, 40);

  EXPECT_EQ(take(reader, 0).numel(), 0);
}

TEST(ReadAhead, CanBeDroppedAtAnyPoint) {
  for (int64_t taken = 0; taken <= 40; ++taken) {
    ReadAhead reader(numbers, 0, 40, 8);
    EXPECT_TRUE(take(reader, taken).equal(numbers(0, taken)));
  }
}

TEST(ReadAhead, OnceDroppedItReadsNoMore) {
  std::atomic<int64_t> read{0};
  {
    ReadAhead reader(
        [&](int64_t begin, int64_t end) {
          read += end - begin;
          return numbers(begin, end);
        },
        0, 100000, 8);
    take(reader, 4);
  }

  EXPECT_GE(read, 4);
  EXPECT_LE(read, 4 + 8);
}

TEST(ReadAhead, ReadsEveryImageOnce) {
  for (const int64_t capacity : {1, 4, 9, 1000}) {
    std::atomic<int64_t> read{0};
    {
      ReadAhead reader(
          [&](int64_t begin, int64_t end) {
            read += end - begin;
            return numbers(begin, end);
          },
          3, 250, capacity);
      EXPECT_TRUE(take(reader, 247).equal(numbers(3, 250)));
    }
    EXPECT_EQ(read, 247) << capacity;
  }
}

}  // namespace
}  // namespace sotta
