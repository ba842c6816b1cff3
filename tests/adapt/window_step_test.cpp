#include "adapt/window_step.h"

#include <ATen/core/grad_mode.h>

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

// What every method of one step per window shares, shown by TENT.
UpdateReport first_update(bool measure_loss_after) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  context.measure_loss_after = measure_loss_after;
  const auto adapter = make_adapter("tent", context);
  return adapter->step(trace.window(0)).updates[0];
}

TEST(WindowStep, MeasuresTheLossAfterTheStepIfAsked) {
  EXPECT_FALSE(first_update(false).loss_after.defined());
  const UpdateReport report = first_update(true);
  EXPECT_LT(number(report.loss_after), number(report.loss));
}

TEST(WindowStep, LossAfterIsTheLossOfTheSameWindowNext) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  context.measure_loss_after = true;
  const auto adapter = make_adapter("tent", context);
  const auto first = adapter->step(trace.window(0)).updates[0];
  const auto second = adapter->step(trace.window(0)).updates[0];
  EXPECT_EQ(number(first.loss_after), number(second.loss));
}

TEST(WindowStep, AdamsFirstStepMovesEachParameterByTheLearningRate) {
  EXPECT_NEAR(number(first_update(false).parameter_change),
              1e-3 * std::sqrt(168.0), 1e-4);
}

TEST(WindowStep, LearnsWhereTheCallerTurnedGradientsOff) {
  const at::NoGradGuard no_gradients;
  EXPECT_TRUE(first_update(true).applied);
}

TEST(WindowStep, LossOfAFixedBatchFalls) {
  const Trace trace("tent_clean");
  for (const char* method : {"tent", "pseudo_label"}) {
    const auto adapter = make_adapter(method, trace.context());
    std::vector<double> losses;
    for (int i = 0; i < 10; ++i)
      losses.push_back(number(adapter->step(trace.window(0)).updates[0].loss));
    EXPECT_LT(losses.back(), losses.front()) << method;
  }
}

}  // namespace
}  // namespace sotta
