// What the harness costs over the bare loop of an adapter: the same stream of 8
// windows through the smallest network with a name, where it weighs most, with
// and without tallies, curves and timing. `ratio` is the median of the paired
// ratios.
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <benchmark/benchmark.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/eval/run_stream.h"

#include "bench/paired.h"
#include "bench/random_network.h"

namespace sotta::bench {
namespace {

constexpr int64_t kImages = 256;  // and as many of noise

RunTask make_task(const std::string& method) {
  RunTask task;
  task.method = method;
  task.context.model = random_network("resnet8");
  task.make = [method](const MethodContext& context) {
    const OptionMap full_work =
        method == "sotta" ? OptionMap{{"min_confidence", 0.0}} : OptionMap{};
    return make_method(method, context, Preset::kClean, full_work);
  };
  task.sources.name = "random";
  task.sources.domains = {
      {"clean",
       std::make_shared<TensorDataset>(
           LabelledImages{at::randint(256, {kImages, 3, 32, 32}).to(at::kByte),
                          at::randint(10, {kImages}, at::kLong)},
           10, "random")}};
  StreamOptions options;
  options.scenario = "noise";
  task.plan = std::make_shared<const StreamPlan>(options, task.sources);
  return task;
}

// What a user writes who wants nothing but predictions.
void bare_loop(const RunTask& task) {
  Adapter adapter(task.method, task.make(task.context), task.context);
  Stream stream(task.plan, task.sources);
  while (stream.position() < stream.size())
    benchmark::DoNotOptimize(adapter.step(stream.next(64)));
}

void harness(benchmark::State& state, const std::string& method) {
  at::set_num_threads(1);  // steadier than all cores
  const RunTask task = make_task(method);
  const auto with = [&] { benchmark::DoNotOptimize(run_stream(task)); };
  const auto without = [&] { bare_loop(task); };
  with();
  without();

  Paired times;
  for (auto _ : state)
    times.run(with, without);
  state.counters["harness_ms"] = times.first_ms();
  state.counters["bare_ms"] = times.second_ms();
  state.counters["ratio"] = times.ratio();
  state.counters["cpu_ratio"] = times.cpu_ratio();
}

BENCHMARK_CAPTURE(harness, source, "source")
    ->Iterations(41)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(harness, sotta, "sotta")
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace sotta::bench

BENCHMARK_MAIN();
