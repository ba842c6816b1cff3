#include "serve/http/live_documents.h"

#include <limits>

#include <gtest/gtest.h>

namespace sotta {
namespace {

using Json = nlohmann::json;

StreamAnswer two_images() {
  StreamAnswer answer;
  answer.classes = 2;
  answer.logits = {3, 0, 0, 3};
  answer.labels = {0, 1};
  answer.confidences = {0.95F, 0.95F};
  return answer;
}

TEST(LiveDocuments, FiguresHaveSharesThatSumToOneAndAllWindows) {
  LiveFigures figures;
  figures.add(two_images());
  figures.close({}, {Verdict::kAdmitted, Verdict::kLowConfidence});
  figures.compare({0, 1}, {0, 0});

  const Json live = Json::parse(live_fields(figures).dump());

  EXPECT_EQ(live["classes"], Json({0.5, 0.5}));
  EXPECT_EQ(live["source"]["agreement"], 0.5);
  EXPECT_EQ(live["source"]["classes"], Json({1, 0}));
  ASSERT_EQ(live["recent"].size(), 1u);
  EXPECT_EQ(live["recent"][0]["verdicts"],
            Json({{"admitted", 1}, {"low confidence", 1}}));
  EXPECT_EQ(live["recent"][0]["admitted_share"], 0.5);
  EXPECT_EQ(live["admitted_share"], 0.5);
}

TEST(LiveDocuments, FiguresOfNothingAreZeros) {
  const Json live = Json::parse(live_fields(LiveFigures()).dump());

  EXPECT_EQ(live["windows"], 0);
  EXPECT_EQ(live["classes"], Json::array());
  EXPECT_EQ(live["source"]["agreement"], 0);
}

TEST(LiveDocuments, AnEventIsOneLineOfJsonUnderItsType) {
  const std::string text = event_text(
      "a\nb", {StreamEvent::Kind::kGuard, "collapse; skip", nullptr});

  EXPECT_EQ(text,
            "event: guard\ndata: {\"stream\":\"a\\nb\","
            "\"detail\":\"collapse; skip\"}\n\n");
}

TEST(LiveDocuments, AWindowsEventHasItsFigures) {
  WindowFigures window;
  window.number = 7;
  window.distance = std::numeric_limits<float>::infinity();
  const std::string text =
      event_text("a", {StreamEvent::Kind::kWindow, "", &window});

  const Json data = Json::parse(text.substr(text.find('{')));
  EXPECT_EQ(data["stream"], "a");
  EXPECT_EQ(data["number"], 7);
  EXPECT_EQ(data["distance"], 0);  // JSON has no infinity
}

TEST(LiveDocuments, AScreenIsShownWhereThereIsOne) {
  LiveFigures figures;
  figures.add(two_images());
  figures.close({}, {Verdict::kAdmitted, Verdict::kAdmitted});
  Screening screening{{-3.F, 2.F}, {}};
  screening.gate.closed = true;
  screening.gate.gap = 7.25;
  screening.gate.information = 0.5;
  figures.add(two_images());
  figures.add(screening);
  figures.close({}, {Verdict::kAdmitted, Verdict::kForeign});

  const Json live = Json::parse(live_fields(figures).dump());

  EXPECT_FALSE(live["recent"][0].contains("screen"));
  EXPECT_EQ(live["recent"][1]["screen"], Json({{"closed", true},
                                               {"foreign", 1},
                                               {"gap", 7.25},
                                               {"information", 0.5},
                                               {"drift", nullptr}}));
}

}  // namespace
}  // namespace sotta
