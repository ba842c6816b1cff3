#include "train/epoch_plan.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/support/thread_counts.h"
#include "tests/train/small_problem.h"

namespace sotta {
namespace {

at::Tensor numbers(const std::vector<int64_t>& values) {
  return at::tensor(values);
}

// Two images of one channel, 2 x 3 pixels, with a border of one.
TrainingSet two_images() {
  const at::Tensor pixels = numbers({1, 2, 3, 4, 5, 6,  //
                                     11, 12, 13, 14, 15, 16});
  const TensorDataset data(
      {pixels.to(at::kByte).view({2, 1, 2, 3}), at::arange(2)}, 2, "two");
  return load_training_set(data, 1, at::kCPU);
}

at::Tensor view_of(int64_t image, int64_t top, int64_t left, bool flip) {
  const TrainingSet set = two_images();
  const auto one = [](int64_t value) { return at::arange(value, value + 1); };
  return cut_views(set, plan_of({one(image), one(top), one(left),
                                 one(flip ? 1 : 0).to(at::kBool)},
                                set.shape()))
      .flatten()
      .to(at::kLong);
}

TEST(EpochPlan, CropsByHand) {
  // The middle of the border is the image itself.
  EXPECT_TRUE(view_of(0, 1, 1, false).equal(numbers({1, 2, 3, 4, 5, 6})));
  // From the upper left corner: a black row and a black column come in.
  EXPECT_TRUE(view_of(1, 0, 0, false).equal(numbers({0, 0, 0, 0, 11, 12})));
  // From the lower right one.
  EXPECT_TRUE(view_of(1, 2, 2, false).equal(numbers({15, 16, 0, 0, 0, 0})));
}

TEST(EpochPlan, FlipsWhatWasCropped) {
  EXPECT_TRUE(view_of(0, 1, 1, true).equal(numbers({3, 2, 1, 6, 5, 4})));
  EXPECT_TRUE(view_of(1, 0, 0, true).equal(numbers({0, 0, 0, 12, 11, 0})));
}

TEST(EpochPlan, ChannelsStayTogether) {
  const at::Tensor pixels = at::arange(2 * 3 * 4).to(at::kByte);
  const TensorDataset data({pixels.view({2, 3, 2, 2}), at::arange(2)}, 2,
                           "colour");
  const TrainingSet set = load_training_set(data, 0, at::kCPU);
  const at::Tensor zero = at::arange(2) * 0;
  const at::Tensor views = cut_views(
      set,
      plan_of({numbers({1, 0}), zero, zero, zero.to(at::kBool)}, set.shape()));
  EXPECT_TRUE(views.equal(set.images.flip(0)));
}

TEST(EpochPlan, EveryImageComesOnceInAnotherOrderEachEpoch) {
  const TrainingSet set = testing::bright_halves_set(200);
  const EpochPlan first = draw_epoch(set, {}, 0),
                  second = draw_epoch(set, {}, 1);

  EXPECT_TRUE(std::get<0>(first.order.sort()).equal(at::arange(200)));
  EXPECT_FALSE(first.order.equal(at::arange(200)));
  EXPECT_FALSE(first.order.equal(second.order));
  EXPECT_FALSE(first.rows.equal(second.rows));
  EXPECT_FALSE(first.columns.equal(second.columns));
}

TEST(EpochPlan, DependsOnSeedAndEpochAlone) {
  const TrainingSet set = testing::bright_halves_set(50);
  TrainOptions options;
  const EpochPlan plan = draw_epoch(set, options, 7);
  EXPECT_TRUE(draw_epoch(set, options, 7).rows.equal(plan.rows));
  EXPECT_TRUE(draw_epoch(set, options, 7).columns.equal(plan.columns));
  options.seed = 1;
  EXPECT_FALSE(draw_epoch(set, options, 7).order.equal(plan.order));
}

TEST(EpochPlan, CropsReachEveryPlaceAndHalfAreFlipped) {
  const TrainingSet set = testing::bright_halves_set(900);  // padding 1
  const EpochPlan plan = draw_epoch(set, {}, 0);

  const at::Tensor top = plan.rows.select(1, 0);
  for (int64_t place = 0; place < 3; ++place)
    EXPECT_NEAR(top.eq(place).sum().item<double>(), 300, 60);
  const at::Tensor flipped =
      plan.columns.select(1, 0).gt(plan.columns.select(1, 1));
  EXPECT_NEAR(flipped.sum().item<double>(), 450, 60);
  EXPECT_EQ(plan.columns.min().item<int64_t>(), 0);
  EXPECT_EQ(plan.columns.max().item<int64_t>(), 9);
}

TEST(EpochPlan, WithoutPaddingAndFlipImagesStayAsTheyAre) {
  const TrainingSet set = testing::bright_halves_set(30, /*padding=*/0);
  TrainOptions options;
  options.flip = false;
  const EpochPlan plan = draw_epoch(set, options, 0);
  EXPECT_TRUE(
      cut_views(set, plan).equal(set.images.index_select(0, plan.order)));
}

TEST(EpochPlan, ViewsAreTheSameAtAnyThreadCount) {
  const TrainingSet set = testing::bright_halves_set(1200);
  testing::expect_same_bits_at_any_thread_count(
      [&] { return cut_views(set, draw_epoch(set, {}, 0)); });
}

}  // namespace
}  // namespace sotta
