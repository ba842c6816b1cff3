#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "gpu/cuda_graph.h"
#include "tests/gpu/adapting.h"
#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

#ifdef SOTTA_CUDA_HEADERS
constexpr bool kCanCapture = true;
#else
constexpr bool kCanCapture = false;
#endif

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

  Run run(at::Device device) const {
    return run(testing::Adapting(GetParam(), device),
               testing::Adapting::kWindows);
  }

  Run run_long(bool cuda_graphs) const {
    return run(testing::Adapting(GetParam(), gpu, cuda_graphs,
                                 testing::with_full_memory(GetParam())),
               kCapturedWindows);
  }

 private:
  static Run run(const testing::Adapting& adapting, int64_t windows) {
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
  const Run wanted = run_long(/*cuda_graphs=*/false),
            found = run_long(/*cuda_graphs=*/true);
  for (size_t w = 0; w < wanted.logits.size(); ++w)
    EXPECT_TRUE(testing::close(found.logits[w], wanted.logits[w], 1e-2, 1e-2))
        << "window " << w;
  EXPECT_TRUE(testing::close(found.affine, wanted.affine, 1e-3, 1e-2));
  EXPECT_TRUE(
      testing::close(found.running_mean, wanted.running_mean, 1e-3, 1e-2));
}

// As docs/gpu.md says: with a memory the prediction and the update apart,
// otherwise both as one graph; CoTTA decides on the host.
TEST_P(GpuMethod, FullWindowsAreCaptured) {
  if (!kCanCapture) GTEST_SKIP() << "built without CUDA's headers";
  const bool has_memory = GetParam() == "rotta" || GetParam() == "sotta" ||
                          GetParam() == "screened_sotta";
  const int64_t expected = GetParam() == "cotta" ? 0 : has_memory ? 2 : 1;
  const int64_t before = CudaGraph::captures();
  run_long(/*cuda_graphs=*/true);
  EXPECT_EQ(CudaGraph::captures() - before, expected);
}

INSTANTIATE_TEST_SUITE_P(Methods, GpuMethod,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
