#include "eval/source_outputs.h"

#include <algorithm>

#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "sotta/adapt/make_adapter.h"

#include "models/resnet.h"

namespace sotta {
namespace {

struct Bench {
  std::shared_ptr<const Classifier> model;
  StreamSources sources;
  std::shared_ptr<const StreamPlan> plan;
};

Bench make_bench() {
  ResNetSpec spec;
  spec.widths = {4, 8};
  spec.blocks = {1, 1};
  spec.channels = 1;
  Bench bench;
  bench.model =
      make_resnet(spec, random_resnet_state(spec, Rng(5)), {{0.5}, {0.2}});
  bench.sources.name = "test";
  bench.sources.domains = {
      {"clean",
       std::make_shared<TensorDataset>(
           LabelledImages{at::randint(256, {21, 1, 8, 8}).to(at::kByte),
                          at::zeros({21}, at::kLong)},
           10, "test")}};
  StreamOptions options;
  options.scenario = "noise";
  options.window = 8;
  bench.plan = std::make_shared<const StreamPlan>(options, bench.sources);
  return bench;
}

class CachedMethod : public ::testing::TestWithParam<const char*> {
 protected:
  static void expect_same_bits(const std::string& method,
                               const GuardOptions& guard,
                               bool cuda_graphs = false) {
    const Bench bench = make_bench();
    MethodContext context;
    context.model = bench.model;
    context.update_interval = 8;
    context.executor =
        std::make_shared<Executor>(bench.model, ExecutorOptions{cuda_graphs});
    Stream whole(bench.plan, bench.sources);
    const auto outputs = std::make_shared<const SourceOutputs>(
        source_outputs(*bench.model, *bench.plan, whole));
    EXPECT_GT(outputs->seconds, 0);

    Adapter direct(method, make_method(method, context), context, guard);
    Adapter cached(
        method,
        make_cached_method(method, context, Preset::kClean, {}, outputs),
        context, guard);
    Stream stream(bench.plan, bench.sources);
    while (stream.position() < stream.size()) {
      const at::Tensor images = stream.next(8);
      EXPECT_TRUE(direct.step(images).logits.equal(cached.step(images).logits));
    }
  }
};

TEST_P(CachedMethod, PredictsTheSameBits) {
  expect_same_bits(GetParam(), {});
}

TEST_P(CachedMethod, PredictsTheSameBitsOnTheWayOfCudaGraphs) {
  expect_same_bits(GetParam(), {}, /*cuda_graphs=*/true);
}

TEST_P(CachedMethod, PredictsTheSameBitsWhenAGuardPutsItBack) {
  GuardOptions guard;
  guard.history = 1;
  guard.max_class_share = 0.01;  // trips in every window
  for (const char* action : {"skip", "rollback", "reset"}) {
    SCOPED_TRACE(action);
    guard.action = action;
    expect_same_bits(GetParam(), guard);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CachedMethod,
                         ::testing::Values("source", "lame"));

// The rule of a LAME from the cache has the options of the method it stands
// for.
TEST(SourceOutputs, EveryOptionOfLameReachesItsCache) {
  const Bench bench = make_bench();
  MethodContext context;
  context.model = bench.model;
  context.update_interval = 8;
  Stream whole(bench.plan, bench.sources);
  const auto outputs = std::make_shared<const SourceOutputs>(
      source_outputs(*bench.model, *bench.plan, whole));
  const auto logits = [&](std::unique_ptr<Method> method) {
    Adapter adapter("lame", std::move(method), context);
    return adapter.step(whole.read(0, 8)).logits;
  };
  const at::Tensor plain =
      logits(make_cached_method("lame", context, Preset::kClean, {}, outputs));
  const std::vector<std::pair<Preset, OptionMap>> variants = {
      {Preset::kPaper, {}},
      {Preset::kClean, {{"neighbours", int64_t{2}}}},
      {Preset::kClean, {{"affinity_weight", 5.0}}},
      {Preset::kClean, {{"max_iterations", int64_t{1}}}}};
  for (const auto& [preset, changes] : variants) {
    const at::Tensor cached =
        logits(make_cached_method("lame", context, preset, changes, outputs));
    EXPECT_TRUE(
        cached.equal(logits(make_method("lame", context, preset, changes))));
    if (!changes.empty()) {
      EXPECT_FALSE(cached.equal(plain)) << changes.begin()->first;
    }
  }
}

TEST(SourceOutputs, ServeTwoMethodsOnly) {
  EXPECT_TRUE(uses_source_outputs("source"));
  EXPECT_TRUE(uses_source_outputs("lame"));
  EXPECT_FALSE(uses_source_outputs("bn_stats"));
}

TEST(SourceOutputs, ACachedMethodCanBeTakenBack) {
  const Bench bench = make_bench();
  MethodContext context;
  context.model = bench.model;
  Stream stream(bench.plan, bench.sources);
  const auto outputs = std::make_shared<const SourceOutputs>(
      source_outputs(*bench.model, *bench.plan, stream));
  Adapter adapter(
      "source",
      make_cached_method("source", context, Preset::kClean, {}, outputs),
      context);
  const Snapshot start = adapter.snapshot();
  const at::Tensor images = stream.read(0, 8);
  const at::Tensor first = adapter.step(images).logits;
  adapter.restore(start);
  EXPECT_TRUE(adapter.step(images).logits.equal(first));
}

TEST(SourceOutputs, ArePlainNumbersOfTheWholeStream) {
  const Bench bench = make_bench();
  Stream stream(bench.plan, bench.sources);
  std::vector<std::string> seen;
  const SourceOutputs outputs = source_outputs(
      *bench.model, *bench.plan, stream, [&](const Progress& now) {
        seen.push_back(std::to_string(now.done) + "/" +
                       std::to_string(now.total) + now.note);
        return true;
      });
  EXPECT_EQ(seen, (std::vector<std::string>{"1/6", "2/6", "3/6", "4/6", "5/6",
                                            "6/6"}));
  EXPECT_FALSE(outputs.logits.requires_grad());
  EXPECT_FALSE(outputs.features.requires_grad());
  ASSERT_EQ(outputs.logits.size(0), 42);
  ASSERT_EQ(outputs.features.size(0), 42);
  for (int64_t begin = 0; begin < 42; begin += 8) {
    const int64_t end = std::min<int64_t>(begin + 8, 42);
    const ForwardResult expected = bench.model->forward(
        stream.read(begin, end), bench.model->source(), NormStats::running());
    EXPECT_TRUE(outputs.logits.slice(0, begin, end).equal(expected.logits));
    EXPECT_TRUE(outputs.features.slice(0, begin, end).equal(expected.features));
  }
}

TEST(SourceOutputs, StopWhenAsked) {
  const Bench bench = make_bench();
  Stream stream(bench.plan, bench.sources);
  EXPECT_THROW(source_outputs(*bench.model, *bench.plan, stream,
                              [](const Progress& now) { return now.done < 2; }),
               PassStopped);
  EXPECT_EQ(stream.position(), 16);
}

TEST(SourceOutputs, ACachedMethodPredictsAnyImages) {
  const Bench bench = make_bench();
  MethodContext context;
  context.model = bench.model;
  Stream stream(bench.plan, bench.sources);
  const auto outputs = std::make_shared<const SourceOutputs>(
      source_outputs(*bench.model, *bench.plan, stream));
  for (const char* name : {"source", "lame"}) {
    const auto cached =
        make_cached_method(name, context, Preset::kClean, {}, outputs);
    const at::Tensor images = stream.read(20, 30);
    EXPECT_TRUE(cached->predict(images).equal(
        make_method(name, context)->predict(images)));
    EXPECT_TRUE(cached->state().affine.equal(bench.model->source().affine));
  }
}

}  // namespace
}  // namespace sotta
