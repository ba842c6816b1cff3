#include "sotta/adapt/odin.h"

#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include "sotta/core/error.h"

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
        testing::close(odin_scores(*trace.context().model, trace.window(window),
                                   options_of(trace)),
                       trace.at("scores", window), 1e-7, 1e-6));
}

TEST(Odin, TenWindowsOfScreenedTentEqualPyTorch) {
  const Trace trace("odin_tent");
  const auto adapter = screened("tent", trace.context(), options_of(trace));
  for (int64_t window = 0; window < 10; ++window)
    testing::expect_window(trace, window, *adapter,
                           adapter->step(trace.window(window)));
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

TEST(Odin, MemoryMethodsBehindItContinueFromASnapshot) {
  const MethodContext context = tiny_context();
  const auto first = screened("sotta", context, {});
  const auto second = screened("sotta", context, {});
  first->step(golden_stream().slice(0, 0, 10));
  second->restore(first->snapshot());
  EXPECT_EQ(second->step(golden_stream().slice(0, 10, 16)).updates.size(), 1u);
}

TEST(Odin, CountsTheFlaggedSamplesOfTheStreamToo) {
  const Trace trace("odin_tent");
  const auto adapter = std::make_unique<Adapter>(
      "sotta+odin",
      make_odin_screen(trace.context(), options_of(trace),
                       make_method("sotta", trace.context(), Preset::kClean,
                                   {{"memory", std::string("fifo")},
                                    {"memory_capacity", int64_t{1000}}})),
      trace.context());
  std::vector<int64_t> expected;
  for (int64_t window = 0; window < 3; ++window) {
    const auto result = adapter->step(trace.window(window));
    for (size_t i = 0; i < result.verdicts.size(); ++i)
      if (result.verdicts[i] == Verdict::kAdmitted)
        expected.push_back(16 * window + static_cast<int64_t>(i));
    adapter->restore(adapter->snapshot());
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
