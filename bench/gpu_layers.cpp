// The convolutions of ResNet18-CIFAR behind its first on a GPU, 64 images:
// microseconds of our own kernel and of LibTorch's (cuDNN's fastest of a few),
// medians of paired runs and of their ratios. Each run is a row of them,
// captured as a CUDA graph: none waits for the program, and ours may begin
// while the one in front ends.
//   gpu_layers [DEVICE, default cuda]
#include <cstdio>
#include <exception>

#include <ATen/core/Tensor.h>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"
#include "sotta/gpu/device.h"

#include "bench/paired.h"
#include "gpu/cuda_graph.h"
#include "gpu/settings_scope.h"
#include "nn/convolution.h"
#include "nn/random_tensor.h"

namespace sotta::bench {
namespace {

constexpr int kImages = 64;
constexpr int kRow = 50;
constexpr int kLaunches = 4;  // in a run
constexpr int kRuns = 101;

struct Layer {
  int from, to, side;  // the input's side
  int kernel = 3, stride = 1;
};

at::Tensor drawn(at::IntArrayRef shape, at::Device device,
                 at::ScalarType type) {
  Rng rng(1);
  return random_normal(rng, shape)
      .to(device, type)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

void show(const Layer& layer, at::Device gpu, Precision precision) {
  const auto type =
      precision == Precision::kBfloat16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor input =
      drawn({kImages, layer.from, layer.side, layer.side}, gpu, type);
  const at::Tensor kernels =
      drawn({layer.to, layer.from, layer.kernel, layer.kernel}, gpu, type);
  const PackedKernels packed = packed_kernels(kernels, layer.stride);
  require(packed.there.defined(), "gpu_layers",
          "needs a GPU of compute capability 9.0 and a build with kernels");

  const auto row_of = [&](const PackedKernels& those) {
    return [&] {
      for (int i = 0; i < kRow; ++i)
        convolution(input, kernels, layer.stride, /*padding=*/layer.kernel / 2,
                    those);
    };
  };
  const PackedKernels none;
  CudaGraph ours(row_of(packed), gpu, /*capture=*/true, /*warm_up_runs=*/1);
  CudaGraph libtorchs(row_of(none), gpu, /*capture=*/true, /*warm_up_runs=*/1);
  const auto run = [&](CudaGraph& row) {
    return [&] {
      for (int i = 0; i < kLaunches; ++i)
        row.run();
      wait_for(gpu);
    };
  };
  run(ours)();  // set up and captured
  run(libtorchs)();
  Paired times;
  for (int i = 0; i < kRuns; ++i)
    times.run(run(ours), run(libtorchs));

  const double each = 1e3 / (kRow * kLaunches);  // microseconds of a run's ms
  const int out = layer.side / layer.stride;
  const double flops = 2.0 * layer.kernel * layer.kernel * kImages * out * out *
                       layer.from * layer.to;
  std::printf(
      "%s, %dx%d, stride %d, %3d to %3d channels, output %2dx%-2d: ours %6.2f "
      "us (%3.0f TFLOP/s), LibTorch %6.2f us, ratio %.2f\n",
      to_text(precision), layer.kernel, layer.kernel, layer.stride, layer.from,
      layer.to, out, out, times.first_ms() * each,
      flops / (times.first_ms() * each) * 1e-6, times.second_ms() * each,
      times.ratio());
}

void show_all(const char* device) {
  const at::Device gpu = parse_device(device);
  require(gpu.is_cuda(), "gpu_layers", "needs a GPU");
  for (const Precision precision : {Precision::kTf32, Precision::kBfloat16}) {
    const SettingsScope scope({precision, /*tuned=*/true}, gpu);
    for (const Layer& layer :
         {Layer{64, 64, 32}, Layer{128, 128, 16}, Layer{256, 256, 8},
          Layer{512, 512, 4}, Layer{64, 128, 32, 3, 2},
          Layer{128, 256, 16, 3, 2}, Layer{256, 512, 8, 3, 2},
          Layer{64, 128, 32, 1, 2}, Layer{128, 256, 16, 1, 2},
          Layer{256, 512, 8, 1, 2}})
      show(layer, gpu, precision);
  }
}

}  // namespace
}  // namespace sotta::bench

int main(int argc, char** argv) try {
  sotta::bench::show_all(argc > 1 ? argv[1] : "cuda");
} catch (const std::exception& error) {
  std::fprintf(stderr, "gpu_layers: %s\n", error.what());
  return 2;
}
