#include "adapt/methods/bn_stats.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::Trace;

TEST(BnStats, TenWindowsEqualPyTorch) {
  for (const char* name : {"bn_stats_clean", "bn_stats_paper"}) {
    const Trace trace(name);
    const auto adapter = make_adapter("bn_stats", trace.context());
    for (int64_t window = 0; window < 10; ++window)
      testing::expect_window(trace, window, *adapter,
                             adapter->step(trace.window(window)));
  }
}

TEST(BnStats, CarriesNothingOver) {
  const Trace trace("bn_stats_clean");
  const auto adapter = make_adapter("bn_stats", trace.context());
  const at::Tensor first = adapter->step(trace.window(0)).logits;
  adapter->step(trace.window(1));
  EXPECT_TRUE(adapter->step(trace.window(0)).logits.equal(first));
  EXPECT_TRUE(adapter->state().running_mean.equal(
      adapter->model().source().running_mean));
}

TEST(BnStats, PredictionsDependOnTheirNeighbours) {
  const Trace trace("bn_stats_clean");
  const auto adapter = make_adapter("bn_stats", trace.context());
  const at::Tensor whole = adapter->step(trace.window(0)).logits;
  const at::Tensor half = adapter->step(trace.window(0).slice(0, 0, 8)).logits;
  EXPECT_FALSE(testing::close(half, whole.slice(0, 0, 8), 1e-3));
}

}  // namespace
}  // namespace sotta
