// One window of 64 CIFAR images through ResNet18 under every method, as a
// multiple of F, one batched inference forward in the same run: by the clock
// (in_F) and in processor time (in_F_cpu), which a busy machine disturbs less.
// Thresholds are set so that every method does its full work on random images.
//   methods_bench [--engine=auto|libtorch|fused] [Google Benchmark's flags]
#include <algorithm>
#include <map>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"

#include "bench/paired.h"
#include "bench/random_network.h"
#include "core/allocator.h"

namespace sotta::bench {
namespace {

EngineOptions engine;

at::Tensor images() {
  return at::randint(256, {64, 3, 32, 32}).to(at::kByte);
}

// Full work: everything is confident, reliable and new enough.
OptionMap full_work(const std::string& method) {
  if (method == "sotta") return {{"min_confidence", 0.0}};
  if (method == "rotta") return {{"quota_first", false}};  // a full memory
  if (method == "eata")
    return {{"entropy_margin", 10.0}, {"redundancy_margin", 2.0}};
  if (method == "sar")
    return {{"entropy_margin", 10.0}, {"reset_threshold", 0.0}};
  return {};
}

void window(benchmark::State& state, const std::string& method) {
  at::set_num_threads(static_cast<int>(available_cores()));
  MethodContext context;
  context.model = choose_engine(random_network("resnet18"), engine);
  context.source_images = images();
  const auto adapter =
      make_adapter(method, context, Preset::kClean, full_work(method));
  const at::Tensor batch = images();

  const auto forward = [&] {
    const c10::InferenceMode no_gradients;
    benchmark::DoNotOptimize(context.model->forward(
        batch, context.model->source(), NormStats::running()));
  };
  const auto step = [&] { benchmark::DoNotOptimize(adapter->step(batch)); };
  forward();
  step();

  Paired times;
  for (auto _ : state)
    times.run(step, forward);
  state.counters["window_ms"] = times.first_ms();
  state.counters["F_ms"] = times.second_ms();
  state.counters["in_F"] = times.ratio();
  state.counters["in_F_cpu"] = times.cpu_ratio();
  state.counters["page_faults"] = times.first_faults();
}

void register_methods() {
  for (const auto& method : method_names())
    benchmark::RegisterBenchmark(
        method.c_str(),
        [method](benchmark::State& state) { window(state, method); })
        ->Iterations(method == "cotta" ? 3 : 11)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

// Takes our flag out of the arguments.
void read_engine(int& argc, char** argv) {
  const std::string flag = "--engine=";
  const auto ours = std::find_if(argv + 1, argv + argc, [&](const char* text) {
    return std::string(text).rfind(flag, 0) == 0;
  });
  if (ours == argv + argc) return;
  engine.name = std::string(*ours).substr(flag.size());
  std::rotate(ours, ours + 1, argv + argc);
  --argc;
}

}  // namespace
}  // namespace sotta::bench

int main(int argc, char** argv) {
  sotta::keep_freed_memory();
  sotta::bench::read_engine(argc, argv);
  sotta::bench::register_methods();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
