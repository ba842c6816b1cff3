// The batched forward pass of 64 CIFAR images through ResNet18, ours beside a
// bare LibTorch module's. Both run in every iteration, so that the noise of a
// shared machine falls on both; `ratio` is the median of the paired ratios.
#include <algorithm>
#include <chrono>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include "sotta/core/threads.h"
#include "sotta/models/resnet.h"

#include "bench/bare_resnet18.h"

namespace sotta::bench {
namespace {

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void forward_beside_bare_module(benchmark::State& state) {
  at::set_num_threads(static_cast<int>(available_cores()));
  const c10::InferenceMode no_gradients;
  const ResNetSpec spec = named_resnet("resnet18", 10);
  const auto ours = make_resnet(spec, random_resnet_state(spec, Rng(0)),
                                {{0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}});
  BareResNet18 bare;
  bare.eval();
  const at::Tensor bytes = at::randint(256, {64, 3, 32, 32}).to(at::kByte);

  // What a user of the bare module writes before the call.
  const auto run_bare = [&] {
    benchmark::DoNotOptimize(
        bare.forward((bytes.to(at::kFloat).div_(255) - 0.47).div_(0.25)));
  };
  const auto run_ours = [&] {
    benchmark::DoNotOptimize(
        ours->forward(bytes, ours->source(), NormStats::running()));
  };
  run_bare();
  run_ours();

  std::vector<double> ours_seconds, bare_seconds, ratios;
  for (auto _ : state) {
    // Alternate who goes first.
    const bool ours_first = ratios.size() % 2 == 0;
    const double first = ours_first ? seconds(run_ours) : seconds(run_bare);
    const double second = ours_first ? seconds(run_bare) : seconds(run_ours);
    ours_seconds.push_back(ours_first ? first : second);
    bare_seconds.push_back(ours_first ? second : first);
    ratios.push_back(ours_seconds.back() / bare_seconds.back());
  }
  state.counters["ours_ms"] = 1e3 * median(ours_seconds);
  state.counters["bare_ms"] = 1e3 * median(bare_seconds);
  state.counters["ratio"] = median(ratios);
}
BENCHMARK(forward_beside_bare_module)
    ->Iterations(21)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace sotta::bench

BENCHMARK_MAIN();
