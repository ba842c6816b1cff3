#include "engine/cpu/network/norm_state.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sotta::engine {
namespace {

// One channel with scale 2, shift 3, running mean 1 and variance 4.
struct OneChannel : ::testing::Test {
  float scale = 2, shift = 3, running_mean = 1, running_var = 4;
  float batch_mean = -1, batch_var = -1;
  NormState state{1};

  NormPointers input() {
    return {&scale,       &shift,      &running_mean,
            &running_var, &batch_mean, &batch_var};
  }
};

TEST_F(OneChannel, RunningAveragesNormalise) {
  state.use_running(input());
  EXPECT_NEAR(state.factor()[0], 1, 1e-5);  // 2 / 2
  EXPECT_NEAR(state.offset()[0], 2, 1e-5);  // 3 - 1 * 1
  EXPECT_EQ(state.mean()[0], 1);
}

TEST_F(OneChannel, BatchStatisticsComeFromSumsAboutTheRunningMean) {
  // The inputs 3 and 5: distances 2 and 4 from the running mean.
  const double sum = 6, squares = 20;
  state.use_batch(input(), NormStats::batch(), &sum, &squares, 2);
  EXPECT_NEAR(batch_mean, 4, 1e-6);
  EXPECT_NEAR(batch_var, 2, 1e-6);          // unbiased
  EXPECT_NEAR(state.factor()[0], 2, 1e-4);  // biased: 1
  EXPECT_NEAR(state.offset()[0], 3 - 4 * 2, 1e-4);
}

TEST_F(OneChannel, OneInputHasNoVariance) {
  const double sum = 2, squares = 4;
  state.use_batch(input(), NormStats::batch(), &sum, &squares, 1);
  EXPECT_EQ(batch_var, 0);
  EXPECT_NEAR(state.factor()[0], 2 / std::sqrt(1e-5), 1e-2);
}

TEST_F(OneChannel, BlendedStatisticsAreMixtures) {
  const double sum = 6, squares = 20;
  state.use_batch(input(), NormStats::blended(0.5), &sum, &squares, 2);
  EXPECT_NEAR(batch_mean, 2.5, 1e-6);
  EXPECT_NEAR(batch_var, 2.5, 1e-6);
}

TEST_F(OneChannel, FrozenStatisticsPassTheGradientOn) {
  state.use_running(input());
  const double sum = 5, product = 8;
  float to_scale = 0, to_shift = 0;
  state.set_backward(&sum, &product, &to_scale, &to_shift);
  EXPECT_NEAR(to_scale, 4, 1e-4);  // 8 / 2
  EXPECT_EQ(to_shift, 5);
  EXPECT_NEAR(state.gradient_factor()[0], 1, 1e-5);
  EXPECT_EQ(state.gradient_slope()[0], 0);
  EXPECT_EQ(state.gradient_offset()[0], 0);
}

// A constant output gradient moves no input: the batch's mean takes it back.
TEST_F(OneChannel, BatchStatisticsCancelAConstantGradient) {
  const double sum = 6, squares = 20;
  state.use_batch(input(), NormStats::batch(), &sum, &squares, 2);
  const double gradients = 2, product = 0;
  float to_scale = 0, to_shift = 0;
  state.set_backward(&gradients, &product, &to_scale, &to_shift);
  EXPECT_NEAR(state.gradient_factor()[0] + state.gradient_offset()[0], 0, 1e-5);
}

}  // namespace
}  // namespace sotta::engine
