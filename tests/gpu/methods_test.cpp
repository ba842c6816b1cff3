#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "tests/gpu/adapting.h"
#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

// Long enough for a capture and some launches of the graph.
constexpr int64_t kCapturedWindows = 20;

class GpuMethod : public testing::OnGpu,
                  public ::testing::WithParamInterface<std::string> {
 protected:
  // The logits of every window, and the network after the last.
  struct Run {
    std::vector<at::Tensor> logits;
    at::Tensor affine, running_mean;
  };

  Run run(at::Device device, bool cuda_graphs = false,
          int64_t windows = testing::Adapting::kWindows) const {
    const testing::Adapting adapting(GetParam(), device, cuda_graphs);
    Run result;
    for (int64_t w = 0; w < windows; ++w)
      result.logits.push_back(
          adapting.adapter->step(adapting.window(w)).logits.cpu());
    result.affine = adapting.adapter->state().affine.cpu();
    result.running_mean = adapting.adapter->state().running_mean.cpu();
    return result;
  }
};

TEST_P(GpuMethod, AdaptsAsOnTheCpu) {
  const Run wanted = run(at::kCPU), found = run(gpu);
  for (size_t w = 0; w < wanted.logits.size(); ++w)
    EXPECT_TRUE(testing::close(found.logits[w], wanted.logits[w], 2e-3, 1e-3))
        << "window " << w;
  EXPECT_TRUE(testing::close(found.affine, wanted.affine, 1e-3, 1e-3));
  EXPECT_TRUE(
      testing::close(found.running_mean, wanted.running_mean, 1e-3, 1e-3));
}

// The sums of a pass back are not repeatable to the last bit.
TEST_P(GpuMethod, CapturedWindowsAreTheWindowsThemselves) {
  const Run wanted = run(gpu, false, kCapturedWindows),
            found = run(gpu, true, kCapturedWindows);
  for (size_t w = 0; w < wanted.logits.size(); ++w)
    EXPECT_TRUE(testing::close(found.logits[w], wanted.logits[w], 1e-2, 1e-2))
        << "window " << w;
  EXPECT_TRUE(testing::close(found.affine, wanted.affine, 1e-3, 1e-2));
  EXPECT_TRUE(
      testing::close(found.running_mean, wanted.running_mean, 1e-3, 1e-2));
}

INSTANTIATE_TEST_SUITE_P(Methods, GpuMethod,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
