#include "engine/recurring_work.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/engine/models.h"

namespace sotta {
namespace {

struct Sums {
  at::Tensor doubled;
  at::Tensor sum;
  at::Tensor none;
  at::Tensor total;

  std::vector<at::Tensor*> tensors() { return {&doubled, &sum, &none, &total}; }
};

// On the CPU nothing is captured, but inputs and results take the same way.
class RecurringWorkTest : public ::testing::TestWithParam<bool> {
 protected:
  Sums add(const at::Tensor& images) {
    places.push_back(images.data_ptr());
    total.add_(images.sum());
    return {images * 2, images.sum(), {}, total.clone()};
  }

  RecurringWork<Sums> work(int64_t full_batch = 0) {
    return {executor, [this](const at::Tensor& images) { return add(images); },
            full_batch};
  }

  const Executor executor{engine::make_model("resnet8"), {GetParam()}};
  at::Tensor total = at::zeros({});
  std::vector<void*> places;
};

TEST_P(RecurringWorkTest, GivesWhatTheFunctionGives) {
  auto sums = work();
  double expected = 0;
  for (int i = 1; i <= 6; ++i) {
    const Sums found = sums(at::full({2, 3}, i));
    expected += 6 * i;
    EXPECT_TRUE(found.doubled.equal(at::full({2, 3}, 2 * i)));
    EXPECT_EQ(found.sum.item<double>(), 6 * i);
    EXPECT_FALSE(found.none.defined());
    EXPECT_EQ(found.total.item<double>(), expected);
  }
}

TEST_P(RecurringWorkTest, ReadsOnePlaceOnlyWhereGraphsAreCaptured) {
  auto sums = work();
  for (int i = 0; i < 4; ++i)
    sums(at::full({2, 3}, i));
  const at::Tensor last = at::full({2, 3}, 9);
  sums(last);
  EXPECT_EQ(places.back() != last.data_ptr(), GetParam());
  EXPECT_EQ(places.back() == places[places.size() - 2], GetParam());
}

TEST_P(RecurringWorkTest, BatchesThatAreNotFullAreRunAsTheyAre) {
  auto sums = work(/*full_batch=*/3);
  for (int i = 0; i < 4; ++i) {
    const at::Tensor part = at::full({2, 3}, i);
    EXPECT_EQ(sums(part).sum.item<double>(), 6 * i);
    EXPECT_EQ(places.back(), part.data_ptr());
  }
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(sums(at::full({3, 3}, i)).sum.item<double>(), 9 * i);
}

TEST_P(RecurringWorkTest, ResultsStayAsTheyAre) {
  auto sums = work();
  std::vector<Sums> results;
  for (int i = 1; i <= 4; ++i)
    results.push_back(sums(at::full({1}, i)));
  EXPECT_EQ(results[2].total.item<double>(), 1 + 2 + 3);
  EXPECT_EQ(results[3].total.item<double>(), 1 + 2 + 3 + 4);
  EXPECT_EQ(results[2].doubled.item<double>(), 6);
}

TEST_P(RecurringWorkTest, TakesWhatChangesBesideTheImages) {
  RecurringWork<Sums> sums(
      executor,
      [this](const std::vector<at::Tensor>& inputs) {
        return add(inputs[0] * inputs[1]);
      },
      /*full_batch=*/2);
  for (int i = 1; i <= 4; ++i)
    for (const int64_t batch : {1, 2})
      EXPECT_EQ(sums({at::full({batch, 3}, i), at::full({batch, 1}, i)})
                    .sum.item<double>(),
                3 * batch * i * i);
}

INSTANTIATE_TEST_SUITE_P(Plain, RecurringWorkTest, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(WithCudaGraphs, RecurringWorkTest,
                         ::testing::Values(true));

TEST(ResultLayout, StacksScalarsBehindTheOthers) {
  Sums sums{at::full({2}, 1), at::full({}, 2.f), {}, at::full({}, 3.f)};
  ResultLayout layout;
  const auto packed = layout.pack(sums.tensors());
  ASSERT_EQ(packed.size(), 2u);
  EXPECT_TRUE(packed[0].equal(sums.doubled));
  EXPECT_EQ(packed[1].sizes(), at::IntArrayRef({2}));
  Sums found;
  layout.unpack(packed, found.tensors());
  EXPECT_EQ(found.sum.item<float>(), 2);
  EXPECT_FALSE(found.none.defined());
  EXPECT_EQ(found.total.item<float>(), 3);
}

}  // namespace
}  // namespace sotta
