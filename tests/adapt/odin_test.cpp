#include "sotta/adapt/odin.h"

#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::golden_stream;
using testing::Trace;

OdinOptions options_of(const Trace& trace) {
  OdinOptions options;
  OptionMap values =
      trace.options({"learning_rate", "weight_decay", "entropy_per_class"});
  assign_options(options, values, "odin");
  return options;
}

std::unique_ptr<Adapter> screened(const std::string& method,
                                  const MethodContext& context,
                                  const OdinOptions& options) {
  return std::make_unique<Adapter>(
      method + "+odin",
      make_odin_screen(context, options, make_method(method, context)),
      context);
}

MethodContext tiny_context() {
  MethodContext context;
  context.model = testing::golden_network();
  context.update_interval = 16;
  return context;
}

TEST(Odin, ScoresEqualPyTorch) {
  const Trace trace("odin_tent");
  for (int64_t window = 0; window < 10; ++window)
    EXPECT_TRUE(
        testing::close(odin_scores(*executor_of(trace.context()),
                                   trace.window(window), options_of(trace)),
                       trace.at("scores", window), 1e-7, 1e-6));
}

TEST(Odin, TenWindowsOfScreenedTentEqualPyTorch) {
  const Trace trace("odin_tent");
  const auto make = [&] {
    return screened("tent", trace.context(), options_of(trace));
  };
  auto adapter = make();
  for (int64_t window = 0; window < 10; ++window) {
    testing::expect_window(trace, window, *adapter,
                           adapter->step(trace.window(window)));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make);
  }
}

// The definition, step by step: the gradient of the largest tempered
// log-probability moves each pixel, and the moved image is scored.
TEST(Odin, ScoresWithOtherOptionsByTheDefinition) {
  const auto model = testing::golden_network();
  OdinOptions options;
  options.temperature = 3;
  options.step = 0.02;
  const at::Tensor images =
      golden_stream().slice(0, 0, 8).to(at::kFloat).div(255);
  const auto probabilities = [&](const at::Tensor& pixels) {
    return (model->forward(pixels, model->source(), NormStats::running())
                .logits /
            3)
        .softmax(1);
  };
  const at::Tensor leaf = as_leaf(images);
  const at::Tensor gradient =
      gradient_of(probabilities(leaf)
                      .log()
                      .gather(1, probabilities(images).argmax(1, true))
                      .sum(),
                  leaf);
  const at::Tensor moved = images + 0.02 * gradient.sign();
  EXPECT_TRUE(testing::close(odin_scores(Executor(model), images, options),
                             std::get<0>(probabilities(moved).max(1)), 1e-6));
}

// A score that is the threshold is familiar.
TEST(Odin, FlagsWhatScoresLessThanTheThreshold) {
  const MethodContext context = tiny_context();
  OdinOptions options;
  const at::Tensor images = golden_stream().slice(0, 0, 16);
  const at::Tensor scores =
      std::get<0>(odin_scores(*executor_of(context), images, options).sort());
  options.threshold = scores[5].item<double>();
  const auto verdicts =
      screened("tent", context, options)->step(images).verdicts;
  EXPECT_EQ(std::count(verdicts.begin(), verdicts.end(), Verdict::kForeign), 5);
}

TEST(Odin, FlagsNothingAtThresholdZero) {
  const auto plain = make_adapter("tent", tiny_context());
  const auto behind = screened("tent", tiny_context(), {});
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor window = golden_stream().slice(0, 16 * i, 16 * (i + 1));
    EXPECT_TRUE(plain->step(window).logits.equal(behind->step(window).logits));
  }
}

TEST(Odin, FlaggedSamplesArePredictedAndNotLearntFrom) {
  OdinOptions options;
  options.threshold = 1;
  const auto adapter = screened("tent", tiny_context(), options);
  const auto result = adapter->step(golden_stream().slice(0, 0, 16));

  EXPECT_EQ(result.prediction.labels.numel(), 16);
  EXPECT_TRUE(std::all_of(
      result.verdicts.begin(), result.verdicts.end(),
      [](Verdict verdict) { return verdict == Verdict::kForeign; }));
  EXPECT_FALSE(result.updates[0].applied);
  EXPECT_TRUE(adapter->state().affine.equal(adapter->model().source().affine));
}

TEST(Odin, AWindowInPartsGetsItsVerdictsInTheOrderOfItsSamples) {
  const Trace trace("odin_tent");
  const auto adapter = screened("tent", trace.context(), options_of(trace));
  adapter->step(trace.window(0).slice(0, 0, 10));
  const auto result = adapter->step(trace.window(0).slice(0, 10, 16));

  const auto expected = testing::bytes_of(trace.at("admitted", 0));
  const std::vector<uint8_t> tail(expected.begin() + 10, expected.end());
  EXPECT_EQ(testing::admitted(result.verdicts), tail);
  EXPECT_EQ(testing::admitted(result.updates[0].verdicts), expected);
}

TEST(Odin, ContinuesFromASnapshotInTheMiddleOfAWindow) {
  const Trace trace("odin_tent");
  const auto whole = screened("tent", trace.context(), options_of(trace));
  const auto second = screened("tent", trace.context(), options_of(trace));
  whole->step(trace.window(0).slice(0, 0, 10));
  second->restore(whole->snapshot());
  const at::Tensor rest = trace.window(0).slice(0, 10, 16);
  whole->step(rest);
  second->step(rest);
  EXPECT_TRUE(whole->state().affine.equal(second->state().affine));
}

TEST(Odin, RefusesFlagsThatDoNotFitTheWaitingSamples) {
  const Trace trace("odin_tent");
  const auto adapter = screened("tent", trace.context(), options_of(trace));
  adapter->step(trace.window(0).slice(0, 0, 10));
  const Snapshot good = adapter->snapshot();
  adapter->restore(good);

  const at::Tensor flags = good.tensors.at("odin.flagged");
  at::Tensor two = flags.clone();
  two[0] = 2;
  for (const at::Tensor& bad : {at::zeros_like(flags), at::ones_like(flags),
                                two, flags.slice(0, 0, 9).clone(),
                                at::cat({flags, at::ones({6}, at::kLong)}),
                                at::empty({0}, at::kLong)}) {
    Snapshot other = good;
    other.tensors["odin.flagged"] = bad;
    EXPECT_THROW(adapter->restore(other), Error) << bad;
  }
  Snapshot without = good;
  without.tensors.erase("waiting");
  EXPECT_THROW(adapter->restore(without), Error);
}

// The guard puts back what it saved in the middle of an update.
TEST(Odin, AGuardCanTakeAnUpdateBack) {
  const Trace trace("odin_tent");
  const MethodContext context = trace.context();
  GuardOptions guard;
  guard.action = "skip";
  guard.max_parameter_change = 1e-12;
  for (const int64_t first : {16, 10}) {  // in one piece, and in two
    Adapter adapter("tent+odin",
                    make_odin_screen(context, options_of(trace),
                                     make_method("tent", context)),
                    context, guard);
    adapter.step(trace.window(0).slice(0, 0, first));
    const auto result = adapter.step(trace.window(1));
    EXPECT_NE(result.guard, "");
    EXPECT_TRUE(adapter.state().affine.equal(adapter.model().source().affine));
    adapter.restore(adapter.snapshot());
  }
}

// SoTTA with a memory for the last `capacity` samples behind the screen.
std::unique_ptr<Adapter> screened_memory(const Trace& trace, int64_t capacity) {
  return std::make_unique<Adapter>(
      "sotta+odin",
      make_odin_screen(trace.context(), options_of(trace),
                       make_method("sotta", trace.context(), Preset::kClean,
                                   {{"memory", std::string("fifo")},
                                    {"memory_capacity", capacity}})),
      trace.context());
}

TEST(Odin, MemoryMethodsBehindItContinueFromASnapshot) {
  const Trace trace("odin_tent");
  const auto whole = screened_memory(trace, 12);
  auto parts = screened_memory(trace, 12);
  for (int64_t begin = 0; begin < 96; begin += 10) {
    const at::Tensor images = golden_stream().slice(0, begin, begin + 10);
    const StepResult expected = whole->step(images),
                     found = parts->step(images);
    EXPECT_TRUE(found.logits.equal(expected.logits)) << begin;
    EXPECT_EQ(found.verdicts, expected.verdicts) << begin;
    EXPECT_EQ(found.updates.size(), expected.updates.size()) << begin;
    EXPECT_EQ(parts->memory_samples(), whole->memory_samples()) << begin;
    testing::go_on_with_a_fresh_one(parts,
                                    [&] { return screened_memory(trace, 12); });
  }
  EXPECT_TRUE(parts->state().affine.equal(whole->state().affine));
  EXPECT_FALSE(parts->state().affine.equal(parts->model().source().affine));
}

TEST(Odin, CountsTheFlaggedSamplesOfTheStreamToo) {
  const Trace trace("odin_tent");
  auto adapter = screened_memory(trace, 1000);
  std::vector<int64_t> expected;
  for (int64_t window = 0; window < 3; ++window) {
    const auto result = adapter->step(trace.window(window));
    for (size_t i = 0; i < result.verdicts.size(); ++i)
      if (result.verdicts[i] == Verdict::kAdmitted)
        expected.push_back(16 * window + static_cast<int64_t>(i));
    EXPECT_EQ(adapter->memory_samples(), expected);
    testing::go_on_with_a_fresh_one(
        adapter, [&] { return screened_memory(trace, 1000); });
  }
  EXPECT_EQ(adapter->memory_samples(), expected);
  EXPECT_LT(expected.size(), 48u);  // some were flagged
}

TEST(Odin, RefusesOptionsOutOfRange) {
  OdinOptions options;
  options.temperature = 0;
  EXPECT_THROW(screened("tent", tiny_context(), options), Error);
  options = {};
  options.step = -1;
  EXPECT_THROW(screened("tent", tiny_context(), options), Error);
  options = {};
  options.threshold = 2;
  EXPECT_THROW(screened("tent", tiny_context(), options), Error);
}

}  // namespace
}  // namespace sotta
