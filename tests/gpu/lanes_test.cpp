#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "sotta/engine/engine.h"
#include "sotta/models/weights.h"

#include "tests/gpu/on_gpu.h"
#include "tests/support/lane_runs.h"

namespace sotta {
namespace {

class GpuLanes : public testing::OnGpu,
                 public ::testing::WithParamInterface<std::string> {
 protected:
  std::shared_ptr<const Classifier> model(Precision precision) const {
    LoadOptions options;
    options.device = gpu;
    options.precision = precision;
    return choose_engine(make_classifier(
        testing::Golden("methods/network").file(), options, "network"));
  }
};

// TF32 rounds in other places where batches are of another size. Where LAME
// finds other neighbours for that, its answers are others.
TEST_P(GpuLanes, AdaptAsAlone) {
  if (GetParam() == "lame") GTEST_SKIP() << "rounding may change neighbours";
  testing::LaneRuns(GetParam(), model(Precision::kTf32)).expect_the_same(5e-2);
}

TEST_P(GpuLanes, AdaptAsAloneWithoutOwnKernels) {
  testing::LaneRuns(GetParam(), model(Precision::kFloat32))
      .expect_the_same(5e-3);
}

INSTANTIATE_TEST_SUITE_P(Methods, GpuLanes, ::testing::ValuesIn(method_names()),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
