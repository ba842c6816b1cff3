#include "gpu/cuda_graph.h"

#ifdef SOTTA_CUDA_HEADERS
#include <c10/cuda/CUDACachingAllocator.h>
#endif

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/core/log.h"
#include "sotta/core/threads.h"
#include "sotta/gpu/device.h"

#include "engine/late_flag.h"
#include "gpu/device_queue.h"
#include "tests/gpu/on_gpu.h"

namespace sotta {
namespace {

#ifdef SOTTA_CUDA_HEADERS

constexpr bool kCanCapture = true;

// What LibTorch holds of the device's memory.
int64_t bytes_held(at::Device device) {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device.index())
      .reserved_bytes[0]
      .current;
}

void give_back_what_is_free() {
  c10::cuda::CUDACachingAllocator::emptyCache();
}

#else

constexpr bool kCanCapture = false;

int64_t bytes_held(at::Device /*device*/) {
  return 0;
}

void give_back_what_is_free() {}

#endif

// Work that adds 2 * input + 1 to a sum, captured in its second run.
class GpuCudaGraph : public testing::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (!kCanCapture) GTEST_SKIP() << "built without CUDA's headers";
    input_ = at::zeros({1000}, gpu);
    sum_ = at::zeros({1000}, gpu);
    set_log_sink(
        [this](LogLevel, const std::string& message) { warning_ = message; });
  }

  void TearDown() override { set_log_sink(nullptr); }

  // `trouble` comes with the capture.
  void run_five_times(const std::function<void()>& trouble) {
    calls_ = 0;
    warning_.clear();
    CudaGraph step(
        [&] {
          const at::Tensor doubled = input_ * 2;
          if (++calls_ == 2) trouble();
          sum_.add_(doubled + 1);
        },
        gpu, /*capture=*/true, /*warm_up_runs=*/1);
    for (int i = 0; i < 5; ++i) {
      input_.fill_(i);
      sum_.fill_(7);
      step.run();
      const auto expected = static_cast<float>(7 + 2 * i + 1);
      EXPECT_EQ(sum_.min().item<float>(), expected) << "run " << i;
      EXPECT_EQ(sum_.max().item<float>(), expected) << "run " << i;
    }
  }

  void expect_launches_again() {
    run_five_times([] {});
    EXPECT_EQ(calls_, 2);  // the warm-up run and the captured one
    EXPECT_EQ(warning_, "");
  }

  void expect_plain_runs() {
    EXPECT_EQ(calls_, 6);  // all five and the capture
    EXPECT_NE(warning_.find("cannot be captured"), std::string::npos)
        << warning_;
  }

  at::Tensor input_, sum_;
  int64_t calls_ = 0;
  std::string warning_;
};

TEST_F(GpuCudaGraph, LaunchesWithWhatItsInputHasBecome) {
  expect_launches_again();
}

TEST_F(GpuCudaGraph, WorkThatThrowsWhileCapturedGoesOnAsItIs) {
  run_five_times([] { throw std::runtime_error("a layer is missing"); });
  expect_plain_runs();
  EXPECT_NE(warning_.find("a layer is missing"), std::string::npos) << warning_;
  expect_launches_again();  // other work still can be captured
}

// CUDA gives up the capture itself.
TEST_F(GpuCudaGraph, WorkThatWaitsForTheDeviceGoesOnAsItIs) {
  run_five_times([this] { wait_for(gpu); });
  expect_plain_runs();
  expect_launches_again();
}

TEST_F(GpuCudaGraph, IsCapturingOnlyInTheCapture) {
  std::vector<bool> capturing, seen_set;
  const at::Tensor flag = at::ones({}, at::TensorOptions(gpu).dtype(at::kBool));
  LateFlag late(/*iterations=*/1);
  CudaGraph step(
      [&] {
        capturing.push_back(CudaGraph::is_capturing());
        sum_.add_(1);
        if (capturing.back()) seen_set.push_back(late.seen_set(flag));
      },
      gpu, /*capture=*/true, /*warm_up_runs=*/1);
  for (int i = 0; i < 3; ++i)
    step.run();
  EXPECT_EQ(capturing, (std::vector<bool>{false, true}));
  EXPECT_EQ(seen_set, (std::vector<bool>{false}));
  EXPECT_EQ(warning_, "");
  EXPECT_FALSE(CudaGraph::is_capturing());
}

TEST_F(GpuCudaGraph, ThreadsMakeAndDropGraphsSideBySide) {
  constexpr int64_t kThreads = 8;
  const int64_t before = CudaGraph::captures();
  std::vector<at::Tensor> sums(kThreads);
  run_in_threads(kThreads, kThreads, [&](int64_t i) {
    const OwnQueue queue(gpu);
    at::Tensor& sum = sums[static_cast<size_t>(i)] = at::zeros({1000}, gpu);
    for (int again = 0; again < 300; ++again) {
      CudaGraph graph([&] { sum += 1; }, gpu, /*capture=*/true,
                      /*warm_up_runs=*/0);
      graph.run();
    }
    wait_for(gpu);
  });
  for (const at::Tensor& sum : sums)
    EXPECT_EQ(sum.sum().item<float>(), 300 * 1000);
  EXPECT_EQ(CudaGraph::captures() - before, kThreads * 300);
  EXPECT_EQ(warning_, "");
}

// Each has memory of its own; of so many that are gone not all of it is kept.
TEST_F(GpuCudaGraph, MemoryOfGraphsThatAreGoneIsBounded) {
  constexpr int64_t kBytes = int64_t{1} << 28;
  give_back_what_is_free();
  const int64_t before = bytes_held(gpu);
  int64_t most = 0;
  for (int again = 0; again < 60; ++again) {
    CudaGraph graph(
        [&] {
          const at::Tensor large =
              at::zeros({kBytes}, at::TensorOptions(gpu).dtype(at::kByte));
          sum_.add_(large.narrow(0, 0, 1000));
        },
        gpu, /*capture=*/true, /*warm_up_runs=*/0);
    graph.run();
    most = std::max(most, bytes_held(gpu) - before);
  }
  EXPECT_LT(most, 24 * kBytes);
}

TEST_F(GpuCudaGraph, MemoryOfACaptureThatWasGivenUpComesBack) {
  constexpr int64_t kMuch = int64_t{1} << 28;
  give_back_what_is_free();
  const int64_t before = bytes_held(gpu);
  run_five_times([this] {
    const at::Tensor large =
        at::empty({kMuch}, at::TensorOptions(gpu).dtype(at::kByte));
    wait_for(gpu);
  });
  expect_plain_runs();
  give_back_what_is_free();
  EXPECT_LT(bytes_held(gpu) - before, kMuch / 2);
}

}  // namespace
}  // namespace sotta
