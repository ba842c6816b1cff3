#include "adapt/loss_descent.h"

#include <cmath>

#include <ATen/core/grad_mode.h>

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

// Shown by TENT.
UpdateReport first_update(bool measure_loss_after) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  context.measure_loss_after = measure_loss_after;
  const auto adapter = make_adapter("tent", context);
  return adapter->step(trace.window(0)).updates[0];
}

TEST(LossDescent, MeasuresTheLossAfterTheStepIfAsked) {
  EXPECT_FALSE(first_update(false).loss_after.defined());
  const UpdateReport report = first_update(true);
  EXPECT_LT(number(report.loss_after), number(report.loss));
}

TEST(LossDescent, LossAfterIsTheLossOfTheSameWindowNext) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  context.measure_loss_after = true;
  const auto adapter = make_adapter("tent", context);
  const auto first = adapter->step(trace.window(0)).updates[0];
  const auto second = adapter->step(trace.window(0)).updates[0];
  EXPECT_EQ(number(first.loss_after), number(second.loss));
}

TEST(LossDescent, AdamsFirstStepMovesEachParameterByTheLearningRate) {
  EXPECT_NEAR(number(first_update(false).parameter_change),
              1e-3 * std::sqrt(168.0), 1e-4);
}

TEST(LossDescent, LearnsWhereTheCallerTurnedGradientsOff) {
  const at::NoGradGuard no_gradients;
  EXPECT_TRUE(first_update(true).applied);
}

TEST(LossDescent, LossOfAFixedBatchFalls) {
  const Trace trace("tent_clean");
  for (const char* method : {"tent", "pseudo_label"}) {
    const auto adapter = make_adapter(method, trace.context());
    std::vector<double> losses;
    for (int i = 0; i < 10; ++i)
      losses.push_back(number(adapter->step(trace.window(0)).updates[0].loss));
    EXPECT_LT(losses.back(), losses.front()) << method;
  }
}

TEST(LossDescent, MinimisesTheLossItIsGiven) {
  const Trace trace("tent_clean");
  const auto method = make_loss_descent(
      trace.context(), make_sgd({/*learning_rate=*/0.1}),
      [](const at::Tensor& logits) { return logits.select(1, 2).mean(); });
  const at::Tensor images = trace.window(0);
  const at::Tensor before = method->predict(images);
  method->observe(images, true);
  const UpdateReport report = method->update();
  EXPECT_NEAR(number(report.loss), number(before.select(1, 2).mean()), 1e-6);
  EXPECT_LT(number(method->predict(images).select(1, 2).mean()),
            number(report.loss));
  EXPECT_EQ(report.verdicts, std::vector<Verdict>(16, Verdict::kAdmitted));
}

// A window's passes taken while it is predicted, as for a CUDA graph, teach
// what they would teach after it.
TEST(LossDescent, LearnsFromWindowsInPartsBetweenCapturedOnes) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  const auto plain = make_adapter("tent", context);
  context.executor = testing::capturing_executor(context);
  const auto captured = make_adapter("tent", context);
  for (int64_t i = 0; i < 8; ++i)
    for (Adapter* adapter : {plain.get(), captured.get()}) {
      const int64_t cut = i % 3 == 2 ? 5 : 16;
      adapter->step(trace.window(i % 6).slice(0, 0, cut));
      if (cut < 16) adapter->step(trace.window(i % 6).slice(0, cut, 16));
    }
  EXPECT_TRUE(captured->state().affine.equal(plain->state().affine));
}

}  // namespace
}  // namespace sotta
