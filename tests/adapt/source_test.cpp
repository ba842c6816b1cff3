#include "adapt/methods/source.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::Trace;

TEST(Source, TenWindowsEqualPyTorch) {
  for (const char* name : {"source_clean", "source_paper"}) {
    const Trace trace(name);
    const auto adapter = make_adapter("source", trace.context());
    for (int64_t window = 0; window < 10; ++window)
      testing::expect_window(trace, window, *adapter,
                             adapter->step(trace.window(window)));
  }
}

TEST(Source, SaysThatItDoesNotAdapt) {
  const Trace trace("source_clean");
  const auto adapter = make_adapter("source", trace.context());
  const StepResult result = adapter->step(trace.window(0));
  EXPECT_FALSE(result.updates[0].applied);
  EXPECT_EQ(result.updates[0].skipped, "the method does not adapt");
  EXPECT_EQ(result.verdicts, std::vector<Verdict>(16, Verdict::kNotScreened));
}

TEST(Source, PredictionsDoNotDependOnTheirNeighbours) {
  const Trace trace("source_clean");
  const auto adapter = make_adapter("source", trace.context());
  const at::Tensor whole = adapter->step(trace.window(0)).logits;
  const at::Tensor alone = adapter->step(trace.window(0).slice(0, 3, 4)).logits;
  EXPECT_TRUE(testing::close(alone[0], whole[3]));
}

}  // namespace
}  // namespace sotta
