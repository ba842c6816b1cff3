#include "serve/http/metrics.h"

#include <gtest/gtest.h>

#include "tests/serve/small_service.h"

namespace sotta {
namespace {

using testing::kSmallWindow;
using testing::small_model;
using testing::SmallService;

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos)
      << line << " is not in\n"
      << text;
}

TEST(Metrics, HaveHelpTypeAndEscapedLabels) {
  SmallService small(small_model("a \"model\""));

  const std::string text = small.send("GET", "/metrics").body;

  expect_line(text, "# TYPE sotta_requests_total counter");
  expect_line(text, R"(sotta_requests_total{model="a \"model\""} 0)");
  expect_line(text, "sotta_waiting_requests 0");
}

TEST(Metrics, CountWhatHappened) {
  SmallService small;
  for (int i = 0; i < 3; ++i)
    small.infer(0, kSmallWindow, R"("sequence_id":"a")");
  small.send("GET", "/nothing");
  small.send("POST", "/v2/models/m/streams/a/freeze");

  const std::string text = small.send("GET", "/metrics").body;

  expect_line(text, R"(sotta_requests_total{model="m"} 3)");
  expect_line(text, R"(sotta_windows_total{model="m"} 3)");
  expect_line(text, R"(sotta_request_duration_seconds_count{model="m"} 3)");
  expect_line(
      text, R"(sotta_request_duration_seconds_bucket{model="m",le="+Inf"} 3)");
  expect_line(text, R"(sotta_update_duration_seconds_count{model="m"} 3)");
  expect_line(text, R"(sotta_refused_requests_total{status="404"} 1)");
  expect_line(text, R"(sotta_frozen_streams{model="m"} 1)");
  expect_line(text, R"(sotta_troubled_streams{model="m"} 1)");
}

TEST(Metrics, AHistogramCountsUpToEveryBound) {
  DurationHistogram histogram;
  histogram.add(0.0005);  // a bound counts as below it
  histogram.add(0.3);
  histogram.add(1000);

  EXPECT_EQ(histogram.counts.front(), 1);
  EXPECT_EQ(histogram.counts.back(), 1);
  EXPECT_DOUBLE_EQ(histogram.sum, 1000.3005);
  int64_t all = 0;
  for (const int64_t count : histogram.counts)
    all += count;
  EXPECT_EQ(all, 3);
}

}  // namespace
}  // namespace sotta
