#include "models/exported/exported_plan.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/nn/norm_stats.h"

namespace sotta {
namespace {

// The images, written to in place, times a weight: values 0 and 1; then batch
// norm of the product with the vectors 2 to 5.
ExportedPlan make_plan() {
  using Kind = ExportedItem::Kind;
  const auto value = [](size_t number) {
    return ExportedItem{Kind::kValue, number, 0, 0, {}};
  };
  const ExportedNode node{
      "torch.ops.aten.mul_.Tensor",
      {{"self", false, {value(0)}}, {"other", false, {value(1)}}},
      {{false, {6}}}};
  ExportedPlan plan;
  plan.constants.resize(8);
  plan.written = {0};
  plan.body = {1};
  plan.norms = {{2, 3, 4, 5}};
  plan.steps.resize(2);
  plan.steps[0].call.emplace(*find_operator(node.target), node, at::kCPU,
                             "net");
  plan.steps[0].last_used = {0, 1};
  plan.steps[1].input = 6;
  plan.steps[1].output = 7;
  plan.output = 7;
  plan.features = 6;
  return plan;
}

TEST(ExportedPlans, RunTheirStepsWithoutATraceInTheInputs) {
  const at::Tensor images = at::ones({2, 3});
  const at::Tensor mean = at::zeros({3}), var = at::zeros({3});
  torch::jit::Stack stack{images,
                          at::ones({3}) * 4,
                          at::ones({3}) * 2,
                          at::ones({3}),
                          at::ones({3}),
                          at::ones({3}),
                          mean,
                          var};
  stack.emplace_back(static_cast<int64_t>(NormStats::Source::kRunning));
  stack.emplace_back(0.);
  run_plan(make_plan(), stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_TRUE(stack[0].toTensor().equal(at::ones({2, 3}) * 7));
  EXPECT_TRUE(stack[1].toTensor().equal(at::ones({2, 3}) * 4));
  EXPECT_TRUE(images.equal(at::ones({2, 3})));
}

TEST(ExportedPlans, StatisticsOfTheBatchAreHandedOut) {
  const at::Tensor mean = at::zeros({3}), var = at::zeros({3});
  torch::jit::Stack stack{
      at::ones({2, 3}), at::ones({3}) * 4, at::ones({3}), at::ones({3}),
      at::zeros({3}),   at::ones({3}),     mean,          var};
  stack.emplace_back(static_cast<int64_t>(NormStats::Source::kBatch));
  stack.emplace_back(0.);
  run_plan(make_plan(), stack);
  EXPECT_TRUE(mean.equal(at::ones({3}) * 4));
}

}  // namespace
}  // namespace sotta
