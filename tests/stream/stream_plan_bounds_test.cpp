#include <gtest/gtest.h>

#include "sotta/stream/stream_plan.h"

#include "tests/stream/numbered_images.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::numbered_sources;
using testing::same_samples;

StreamOptions scenario(const std::string& name) {
  StreamOptions options;
  options.scenario = name;
  return options;
}

TEST(StreamPlanBounds, TruthOfAnyRangeWithinTheStreamIsGiven) {
  const StreamPlan plan(scenario("noise"), numbered_sources(40));

  const WindowTruth all = plan.truth(0, 80);
  ASSERT_EQ(all.labels.size(0), 80);
  for (int64_t i = 0; i < 80; ++i) {
    EXPECT_EQ(all.labels[i].item<int64_t>(), plan[i].label);
    EXPECT_EQ(all.benign[i].item<bool>(), plan[i].benign());
    EXPECT_FALSE(all.attacker[i].item<bool>());
  }
  for (const int64_t place : {0, 7, 80})
    EXPECT_EQ(plan.truth(place, place).labels.size(0), 0) << place;
}

TEST(StreamPlanBounds, OneImageOfEachKindIsEnough) {
  StreamOptions options = scenario("near");
  options.window = 1;
  const StreamPlan plan(options, numbered_sources(1, 1));
  EXPECT_EQ(plan.size(), 2);
  EXPECT_EQ(plan.windows(), 2);
  EXPECT_EQ(plan.benign(), 1);

  options.whole_windows = true;
  options.window = 2;  // exactly one window
  EXPECT_EQ(StreamPlan(options, numbered_sources(1, 1)).size(), 2);
  EXPECT_EQ(StreamPlan(options, numbered_sources(1, 1)).windows(), 1);
}

TEST(StreamPlanBounds, OneDomainIsNotMixed) {
  for (const char* name : {"near", "attack"}) {
    StreamOptions options = scenario(name);
    const StreamPlan continual(options, numbered_sources(50));
    options.domains = "mixed";
    EXPECT_TRUE(
        same_samples(StreamPlan(options, numbered_sources(50)), continual));
  }
}

TEST(StreamPlanBounds, RefusesForeignSetsAndShapesThatDoNotFit) {
  for (const std::string name : {"near", "far"}) {
    auto sources = numbered_sources(5, 0);
    expect_error(ErrorKind::kInvalid,
                 "expected a foreign set with images for " + name,
                 [&] { StreamPlan(scenario(name), sources); });
    sources.foreign = nullptr;
    expect_error(ErrorKind::kInvalid,
                 "expected a foreign set with images for " + name,
                 [&] { StreamPlan(scenario(name), sources); });
    for (const char* other : {"benign", "attack", "noise"})
      EXPECT_NO_THROW(StreamPlan(scenario(other), sources));
  }

  // As many images, of another shape.
  auto sources = numbered_sources(5);
  const LabelledImages wide = sources.domains[0].images->range(0, 5);
  sources.domains.push_back(
      {"wide", std::make_shared<TensorDataset>(
                   LabelledImages{wide.images.expand({5, 3, 1, 2}).contiguous(),
                                  wide.labels},
                   10, "wide")});
  expect_error(ErrorKind::kInvalid,
               "StreamSources: expected the same number and shape of images in "
               "all domains, wide differs from d0",
               [&] { StreamPlan(scenario("benign"), sources); });
}

TEST(StreamPlanBounds, SaysHowManySamplesWereAskedFor) {
  StreamOptions options = scenario("noise");
  options.foreign_count = 100'000'001;
  expect_error(ErrorKind::kInvalid,
               "foreign_count: expected at most 100000000 foreign samples, "
               "asked for 100000001",
               [&] { StreamPlan(options, numbered_sources(5)); });
}

TEST(StreamPlanBounds, IsRefusedForOptionsThatAreNotValid) {
  StreamOptions options = scenario("noise");
  options.burst = -1;
  expect_error(ErrorKind::kInvalid, "burst",
               [&] { StreamPlan(options, numbered_sources(5)); });
}

}  // namespace
}  // namespace sotta
