#include "serve/streams/live_figures.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sotta {
namespace {

// Images of two classes, all with these logits.
StreamAnswer answer_of(size_t images, float first, float second) {
  StreamAnswer answer;
  answer.classes = 2;
  for (size_t i = 0; i < images; ++i) {
    answer.logits.insert(answer.logits.end(), {first, second});
    answer.labels.push_back(first >= second ? 0 : 1);
    answer.confidences.push_back(1 / (1 + std::exp(-std::abs(first - second))));
  }
  return answer;
}

// A window of 4 images of which so many are admitted.
void close_window(LiveFigures& figures, int admitted, bool guard = false) {
  std::vector<Verdict> verdicts(4, Verdict::kLowConfidence);
  for (int i = 0; i < admitted; ++i)
    verdicts[static_cast<size_t>(i)] = Verdict::kAdmitted;
  WindowFigures end;
  end.guard = guard;
  figures.close(end, verdicts);
}

TEST(LiveFigures, AWindowHasTheMeansOfItsImagesAndRequests) {
  LiveFigures figures;
  figures.add(answer_of(2, 0, 0));
  figures.add_latency(0.2);
  figures.add(answer_of(2, 200, 0));
  figures.add_latency(0.4);
  EXPECT_EQ(figures.filling(), 4);

  WindowFigures end;
  end.learnt = true;
  end.distance = 3;
  const WindowFigures window =
      figures.close(end, {Verdict::kAdmitted, Verdict::kAdmitted,
                          Verdict::kAdmitted, Verdict::kLowConfidence});

  EXPECT_EQ(window.images, 4);
  EXPECT_FLOAT_EQ(window.confidence, 0.75F);
  EXPECT_FLOAT_EQ(window.entropy, 0.5F);  // 1 for equal shares, 0 for certainty
  EXPECT_FLOAT_EQ(window.latency, 0.3F);
  EXPECT_DOUBLE_EQ(window.admitted_share(), 0.75);
  EXPECT_TRUE(window.learnt);
  EXPECT_EQ(figures.summary().distance, 3);
  EXPECT_EQ(figures.filling(), 0);
}

TEST(LiveFigures, OnlyTheLatestWindowsAreKeptAndNumbersGoOn) {
  LiveFigures figures;

  for (size_t i = 0; i < 2 * LiveFigures::kWindows; ++i) {
    figures.add(answer_of(4, 1, 0));
    close_window(figures, 1);
  }

  ASSERT_EQ(figures.windows().size(), LiveFigures::kWindows);
  EXPECT_EQ(figures.windows().back().number,
            static_cast<int64_t>(2 * LiveFigures::kWindows - 1));
}

TEST(LiveFigures, AFallIsSeenOnceEnoughWindowsAreThere) {
  LiveFigures figures;
  const auto windows = [&](size_t count, float logit, int admitted) {
    for (size_t i = 0; i < count; ++i) {
      figures.add(answer_of(4, logit, 0));
      close_window(figures, admitted);
    }
  };
  windows(LiveSummary::kRecent, 200, 4);
  EXPECT_EQ(figures.summary().admitted_fall, 0);

  windows(LiveSummary::kRecent, 0, 1);

  EXPECT_DOUBLE_EQ(figures.summary().admitted_share, 0.25);
  EXPECT_DOUBLE_EQ(figures.summary().admitted_fall, 0.75);
  EXPECT_NEAR(figures.summary().confidence_fall, 0.5, 1e-6);
}

TEST(LiveFigures, GuardTripsLeaveTheRecordWithTheirWindows) {
  LiveFigures figures;
  close_window(figures, 0, /*guard=*/true);
  EXPECT_EQ(figures.summary().guard_trips, 1);

  for (size_t i = 0; i < LiveFigures::kWindows; ++i)
    close_window(figures, 0);

  EXPECT_EQ(figures.summary().guard_trips, 0);
}

TEST(LiveFigures, OlderWindowsWeighLessAmongClasses) {
  LiveFigures figures;
  figures.add(answer_of(4, 1, 0));
  close_window(figures, 0);
  figures.add(answer_of(4, 0, 1));

  EXPECT_FLOAT_EQ(figures.classes()[0], 4 * LiveFigures::kFading);
  EXPECT_FLOAT_EQ(figures.classes()[1], 4);
}

TEST(LiveFigures, PredictionsAreComparedWithTheSourceModels) {
  LiveFigures figures;
  figures.add(answer_of(4, 1, 0));

  figures.compare({0, 0, 1, 1}, {0, 0, 0, 1});

  EXPECT_EQ(figures.comparison().images, 4);
  EXPECT_FLOAT_EQ(figures.comparison().agreed, 3);
  EXPECT_EQ(figures.comparison().own, (std::vector<float>{2, 2}));
  EXPECT_EQ(figures.comparison().by_source, (std::vector<float>{3, 1}));
}

TEST(LiveFigures, LogitsThatAreNoNumbersLeaveMeansThatAre) {
  LiveFigures figures;
  StreamAnswer answer = answer_of(1, 1, 0);
  answer.logits[0] = std::numeric_limits<float>::quiet_NaN();
  answer.confidences[0] = std::numeric_limits<float>::quiet_NaN();
  figures.add(answer);
  StreamAnswer infinite = answer_of(1, 1, 0);
  infinite.logits[1] = -std::numeric_limits<float>::infinity();
  figures.add(infinite);

  close_window(figures, 0);

  EXPECT_TRUE(std::isfinite(figures.summary().confidence));
  EXPECT_TRUE(std::isfinite(figures.summary().entropy));
}

// A window may come in several calls: foreign images are counted over all, the
// gate is the last one's.
TEST(LiveFigures, AWindowHasItsScreensGateAndForeignImages) {
  LiveFigures figures;
  figures.add(Screening{{1.F, -1.F}, {}});
  Screening last{{std::numeric_limits<float>::quiet_NaN(), 0.F, 2.F}, {}};
  last.gate.closed = true;
  figures.add(last);
  const WindowFigures window = figures.close({}, {});
  ASSERT_TRUE(window.gate);
  EXPECT_TRUE(window.gate->closed);
  EXPECT_EQ(window.foreign, 2);
  figures.add(Screening{});
  EXPECT_FALSE(figures.close({}, {}).gate);
}

}  // namespace
}  // namespace sotta
