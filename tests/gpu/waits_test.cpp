#ifdef SOTTA_CUDA_HEADERS
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>
#endif

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "gpu/download.h"
#include "gpu/upload.h"
#include "tests/gpu/adapting.h"
#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

#ifdef SOTTA_CUDA_HEADERS

// Counts how often this thread waits for a GPU. LibTorch can warn of it, and
// passes on what its threads for gradients were warned of.
class WaitCounter : public c10::WarningHandler {
 public:
  WaitCounter() { warn(c10::cuda::SyncDebugMode::L_WARN); }
  ~WaitCounter() override { warn(c10::cuda::SyncDebugMode::L_DISABLED); }

  int64_t waits() const { return waits_; }

 private:
  void process(const c10::Warning& warning) override {
    if (std::string(warning.msg()).find("synchronizing") != std::string::npos)
      ++waits_;
  }

  static void warn(c10::cuda::SyncDebugMode mode) {
    c10::cuda::warning_state().set_sync_debug_mode(mode);
  }

  int64_t waits_ = 0;
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

constexpr bool kCanCount = true;

#else

struct WaitCounter {
  int64_t waits() const { return 0; }
};

constexpr bool kCanCount = false;

#endif

class GpuWaits : public testing::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && !kCanCount)
      GTEST_SKIP() << "built without CUDA's headers";
  }
};

TEST_F(GpuWaits, TransfersFromTheDeviceCountAndThoseToItDoNot) {
  const at::Tensor there = at::zeros({3}, gpu);
  const WaitCounter counter;
  EXPECT_EQ(counter.waits(), 0);
  EXPECT_EQ(there.cpu().numel(), 3);
  EXPECT_EQ(counter.waits(), 1);
  EXPECT_EQ(there.sum().item<float>(), 0);
  EXPECT_EQ(counter.waits(), 2);
  EXPECT_EQ(upload(at::zeros({3}), gpu).numel(), 3);
  EXPECT_EQ(counter.waits(), 2);
  EXPECT_EQ(download({there, there.sum()}).size(), 2u);
  EXPECT_EQ(counter.waits(), 3);
}

class GpuMethodWaits : public GpuWaits,
                       public ::testing::WithParamInterface<std::string> {
 protected:
  // As docs/gpu.md says: CoTTA has to know whether to predict once or on many
  // views, a screen how images look. Where looks are parted, as with the 64th
  // image, the memory's are looked at again and the source model is asked
  // twice.
  static void expect_one_wait_a_window(const testing::Adapting& adapting) {
    constexpr int64_t kFirst = 3;
    const bool screens = GetParam() == "screened_sotta";
    const int64_t expected = screens || GetParam() == "cotta" ? 2 : 1;
    constexpr int64_t kParted = 64 / testing::Adapting::kWindow - 1;

    // Before the first that counts, libraries do what they do once, and graphs
    // are captured.
    for (int64_t window = 0; window < adapting.kWindows; ++window) {
      const at::Tensor images = adapting.window(window);
      const WaitCounter counter;
      const StepResult result = adapting.adapter->step(images);
      EXPECT_EQ(result.updates.size(), 1u);
      if (window < kFirst) continue;
      const int64_t more = screens && window == kParted ? 3 : 0;
      EXPECT_EQ(counter.waits(), expected + more) << "window " << window;
    }
  }
};

TEST_P(GpuMethodWaits, OnceAWindow) {
  expect_one_wait_a_window(testing::Adapting(GetParam(), gpu));
}

TEST_P(GpuMethodWaits, OnceAWindowWithCudaGraphs) {
  expect_one_wait_a_window(
      testing::Adapting(GetParam(), gpu, /*cuda_graphs=*/true,
                        testing::with_full_memory(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Methods, GpuMethodWaits,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& tried) { return tried.param; });

}  // namespace
}  // namespace sotta
