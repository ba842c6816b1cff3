#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/models/weights.h"

#include "tests/gpu/on_gpu.h"
#include "tests/support/golden.h"

namespace sotta {
namespace {

constexpr int64_t kWindow = 16;
constexpr int64_t kWindows = 6;

// Long enough for a recording and some replays, the stream over and over.
constexpr int64_t kReplayedWindows = 20;

class GpuMethod : public testing::OnGpu,
                  public ::testing::WithParamInterface<std::string> {
 protected:
  // The logits of every window, and the network after the last.
  struct Run {
    std::vector<at::Tensor> logits;
    at::Tensor affine, running_mean;
  };

  Run run(at::Device device, bool replay = false,
          int64_t windows = kWindows) const {
    const testing::Golden stream("methods/stream");
    LoadOptions options;
    options.device = device;
    MethodContext context;
    context.model = make_classifier(testing::Golden("methods/network").file(),
                                    options, "network");
    context.update_interval = kWindow;
    context.replay = replay;
    context.source_images = stream["fisher_clean"].to(device);
    const auto adapter = make_adapter(GetParam(), context);
    const at::Tensor images = stream["images"].to(device);
    Run result;
    for (int64_t w = 0; w < windows; ++w)
      result.logits.push_back(
          adapter->step(images.narrow(0, w % kWindows * kWindow, kWindow))
              .logits.cpu());
    result.affine = adapter->state().affine.cpu();
    result.running_mean = adapter->state().running_mean.cpu();
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
TEST_P(GpuMethod, ReplayedWindowsAreTheWindowsThemselves) {
  const Run wanted = run(gpu, false, kReplayedWindows),
            found = run(gpu, true, kReplayedWindows);
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
