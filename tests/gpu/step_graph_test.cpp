#include "sotta/nn/step_graph.h"

#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/log.h"

#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

using GpuStepGraph = testing::OnGpu;

// Memory that is free at a cut serves what comes after it, or is kept.
TEST_F(GpuStepGraph, CutIntoPiecesDoesTheSame) {
  std::string warning;
  set_log_sink(
      [&](LogLevel, const std::string& message) { warning = message; });
  const at::Tensor input = at::zeros({1000}, gpu), sum = at::zeros({1000}, gpu);
  StepGraph step(
      [&] {
        const at::Tensor kept = input * 2;
        { const at::Tensor freed = kept + 7; }
        StepGraph::cut();
        const at::Tensor more = kept + 1;
        StepGraph::cut();
        sum.add_(more + kept);
      },
      gpu, /*replay=*/true, /*plain_runs=*/1);
  float expected = 0;
  for (int i = 0; i < 5; ++i) {
    input.fill_(i);
    step.run();
    expected += static_cast<float>(4 * i + 1);
    EXPECT_EQ(sum.min().item<float>(), expected);
    EXPECT_EQ(sum.max().item<float>(), expected);
  }
  set_log_sink({});
  EXPECT_EQ(warning, "");
}

}  // namespace
}  // namespace sotta
