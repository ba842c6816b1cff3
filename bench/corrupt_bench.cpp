// The fifteen common corruptions at severity 5 on CIFAR-sized images, as
// seconds for 10,000 of them, and their sum.
//
//   corrupt_bench [--images=1000] [--device=cuda] [--benchmark_filter=snow]
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <benchmark/benchmark.h>

#include "sotta/core/threads.h"
#include "sotta/corrupt/corruption.h"

#include "core/stopwatch.h"

namespace sotta::bench {
namespace {

int64_t image_count = 1000;
std::string device_name = "cpu";
double seconds_in_all = 0;  // for 10,000 images of every kind that was run

// Smooth shapes with edges, as photographs have them, another for each image.
at::Tensor images() {
  const at::Tensor x = at::arange(32, at::kDouble).view({1, 1, 1, 32});
  const at::Tensor y = at::arange(32, at::kDouble).view({1, 1, 32, 1});
  const at::Tensor channel = at::arange(3, at::kDouble).view({1, 3, 1, 1});
  const at::Tensor each =
      at::arange(image_count, at::kDouble).view({-1, 1, 1, 1});
  return ((x * (each.remainder(7) + 2) + y * (channel + each.remainder(5)) +
           (x * y).sqrt() * 3 + each)
              .remainder(256))
      .to(at::kByte)
      .to(at::Device(device_name));
}

void corrupt(benchmark::State& state, const std::string& kind) {
  at::set_num_threads(static_cast<int>(available_cores()));
  CorruptionOptions options;
  options.kind = kind;
  const Corruption corruption(options, 32);
  const at::Tensor batch = images();
  std::vector<int64_t> indices(static_cast<size_t>(image_count));
  std::iota(indices.begin(), indices.end(), 0);
  // Waits for a GPU by reading a result back.
  const auto run = [&] {
    return corruption.apply(batch, indices).sum().item();
  };
  run();

  double seconds = 0;
  for (auto _ : state) {
    const Stopwatch watch;
    benchmark::DoNotOptimize(run());
    const double taken = watch.seconds();
    state.SetIterationTime(taken);
    seconds += taken;
  }
  const double for_all = seconds / static_cast<double>(state.iterations()) *
                         1e4 / static_cast<double>(image_count);
  state.counters["s_for_10000"] = for_all;
  seconds_in_all += for_all;
}

// Takes our own flags out of the list.
void read_flags(int& argc, char** argv) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--images=", 9) == 0)
      image_count = std::stoll(argv[i] + 9);
    else if (std::strncmp(argv[i], "--device=", 9) == 0)
      device_name = argv[i] + 9;
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
}

}  // namespace
}  // namespace sotta::bench

int main(int argc, char** argv) {
  using namespace sotta;
  bench::read_flags(argc, argv);
  benchmark::Initialize(&argc, argv);
  for (const std::string& kind : common_corruption_names())
    benchmark::RegisterBenchmark(
        kind.c_str(),
        [kind](benchmark::State& state) { bench::corrupt(state, kind); })
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  std::printf("sum for 10,000 images: %.1f s on %s\n", bench::seconds_in_all,
              bench::device_name.c_str());
}
