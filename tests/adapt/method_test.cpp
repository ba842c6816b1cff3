#include "sotta/adapt/method.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

TEST(ExecutorOf, IsTheContextsOrOneForItsModel) {
  MethodContext context;
  context.model = testing::golden_network();
  const auto plain = executor_of(context);
  EXPECT_EQ(&plain->model(), context.model.get());
  EXPECT_FALSE(plain->options().cuda_graphs);

  context.executor = testing::capturing_executor(context);
  EXPECT_EQ(executor_of(context), context.executor);
}

TEST(ExecutorOf, RefusesAnotherModels) {
  MethodContext context;
  context.model = testing::golden_network();
  context.executor = std::make_shared<Executor>(testing::golden_network());
  EXPECT_THROW(executor_of(context), Error);
}

TEST(Observed, GivesEverySampleTheSameVerdict) {
  const at::Tensor logits = at::ones({3, 2});

  const Observation seen =
      observed(logits, classify(logits), Verdict::kPending);

  EXPECT_TRUE(seen.logits.is_same(logits));
  EXPECT_EQ(seen.prediction.labels.numel(), 3);
  EXPECT_EQ(seen.verdicts, std::vector<Verdict>(3, Verdict::kPending));
}

TEST(NotFinite, LearntNothingFromAnySample) {
  const UpdateReport report = not_finite(3);
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.skipped, "the window's logits are not finite");
  EXPECT_EQ(report.verdicts, std::vector<Verdict>(3, Verdict::kNotFinite));
}

}  // namespace
}  // namespace sotta
