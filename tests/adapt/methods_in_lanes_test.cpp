#include <string>

#include <gtest/gtest.h>

#include "sotta/models/weights.h"

#include "engine/cuda/cuda_classifier.h"
#include "tests/support/lane_runs.h"

namespace sotta {
namespace {

// The CUDA engine on the CPU, which joins lanes in all passes; its own kernels
// are tried in tests/gpu/lanes_test.cpp.
class MethodInLanes : public ::testing::TestWithParam<std::string> {};

TEST_P(MethodInLanes, AdaptsAsAlone) {
  const testing::LaneRuns runs(
      GetParam(),
      engine::make_cuda(make_classifier(
          testing::Golden("methods/network").file(), {}, "network")));
  runs.expect_the_same(1e-3);
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodInLanes,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
