#include "adapt/whole_window_step.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::Trace;

// What TENT and pseudo-labels share, shown by TENT: a window's passes taken
// while it is predicted, to be replayed, teach what they would teach after it.
TEST(WholeWindowStep, LearnsFromWindowsInPartsBetweenReplays) {
  const Trace trace("tent_clean");
  MethodContext context = trace.context();
  const auto plain = make_adapter("tent", context);
  context.replay = true;
  const auto replayed = make_adapter("tent", context);
  for (int64_t i = 0; i < 8; ++i)
    for (Adapter* adapter : {plain.get(), replayed.get()}) {
      const int64_t cut = i % 3 == 2 ? 5 : 16;
      adapter->step(trace.window(i % 6).slice(0, 0, cut));
      if (cut < 16) adapter->step(trace.window(i % 6).slice(0, cut, 16));
    }
  EXPECT_TRUE(replayed->state().affine.equal(plain->state().affine));
}

}  // namespace
}  // namespace sotta
