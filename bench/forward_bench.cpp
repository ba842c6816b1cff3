// The batched forward pass of 64 CIFAR images through ResNet18, ours by each
// engine beside a bare LibTorch module's; `ratio` is the median of the paired
// ratios.
#include <string>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"

#include "bench/bare_resnet18.h"
#include "bench/paired.h"
#include "bench/random_network.h"
#include "core/allocator.h"

namespace sotta::bench {
namespace {

void forward_beside_bare_module(benchmark::State& state,
                                const std::string& engine) {
  at::set_num_threads(static_cast<int>(available_cores()));
  const c10::InferenceMode no_gradients;
  EngineOptions options;
  options.name = engine;
  const auto ours = choose_engine(random_network("resnet18"), options);
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

  Paired times;
  for (auto _ : state)
    times.run(run_ours, run_bare);
  state.counters["ours_ms"] = times.first_ms();
  state.counters["bare_ms"] = times.second_ms();
  state.counters["ratio"] = times.ratio();
}

void register_engines() {
  for (const std::string engine : {"libtorch", "auto"})
    benchmark::RegisterBenchmark(("forward/" + engine).c_str(),
                                 [engine](benchmark::State& state) {
                                   forward_beside_bare_module(state, engine);
                                 })
        ->Iterations(21)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

}  // namespace
}  // namespace sotta::bench

int main(int argc, char** argv) {
  sotta::keep_freed_memory();  // as the command does
  sotta::bench::register_engines();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
