#include "adapt/window_method.h"

#include "sotta/adapt/tent.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::Trace;

// The frame as TENT uses it.
TEST(WindowMethod, AWindowWithoutSamplesIsSkipped) {
  const auto method = make_tent(Trace("tent_clean").context(), {});
  const UpdateReport report = method->update();
  EXPECT_FALSE(report.applied);
  EXPECT_EQ(report.skipped, "the window has no samples");
}

TEST(WindowMethod, AdaptsToFewerSamplesThanTheInterval) {
  const Trace trace("tent_clean");
  const auto method = make_tent(trace.context(), {});
  method->observe(trace.window(0).slice(0, 0, 5), false);
  EXPECT_EQ(method->update().verdicts.size(), 5u);
}

TEST(WindowMethod, PartsOfBytesAndFloatsMakeOneWindow) {
  const Trace trace("tent_clean");
  const auto bytes = make_adapter("tent", trace.context());
  const auto mixed = make_adapter("tent", trace.context());
  bytes->step(trace.window(0));
  mixed->step(trace.window(0).slice(0, 0, 8));
  mixed->step(trace.window(0).slice(0, 8, 16).to(at::kFloat).div(255));
  EXPECT_TRUE(testing::close(mixed->state().affine, bytes->state().affine));
}

// The snapshot that a guard returns to has the window's samples in it.
TEST(WindowMethod, AWindowThatAGuardTookBackDoesNotComeAgain) {
  const Trace trace("tent_clean");
  GuardOptions guard;
  guard.action = "skip";
  guard.max_parameter_change = 1e-9;
  const auto adapter =
      make_adapter("tent", trace.context(), Preset::kClean, {}, guard);
  adapter->step(trace.window(0).slice(0, 0, 8));
  const StepResult result = adapter->step(trace.window(0).slice(0, 8, 16));
  EXPECT_FALSE(result.guard.empty());
  EXPECT_EQ(adapter->snapshot().tensors.count("waiting"), 0u);
}

}  // namespace
}  // namespace sotta
