#include "sotta/stream/stream_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

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

// The indices of one origin's samples in the order of the stream.
std::vector<int64_t> indices(const StreamPlan& plan, Origin origin) {
  std::vector<int64_t> result;
  for (const SampleTruth& sample : plan.samples())
    if (sample.origin == origin) result.push_back(sample.index);
  return result;
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(StreamPlan, LengthsAreThoseOfThePaper) {
  const auto cifar = numbered_sources(10000, 10000);
  StreamOptions options = scenario("benign");
  options.whole_windows = true;
  const auto expect_length = [&](int64_t samples, int64_t windows) {
    const StreamPlan plan(options, cifar);
    EXPECT_EQ(plan.size(), samples);
    EXPECT_EQ(plan.windows(), windows);
  };

  expect_length(9984, 156);
  for (const char* name : {"near", "far", "attack", "noise"}) {
    options.scenario = name;
    expect_length(19968, 312);
  }
  options.foreign_count = 5000;
  expect_length(14976, 234);
  options.foreign_count = 20000;
  expect_length(29952, 468);
}

TEST(StreamPlan, LengthsOfImageNetAreThoseOfThePaper) {
  const auto imagenet = numbered_sources(50000, 10000, 1, 1000);
  StreamOptions options = scenario("benign");
  options.whole_windows = true;

  EXPECT_EQ(StreamPlan(options, imagenet).size(), 49984);
  options.scenario = "far";  // MNIST five times over
  const StreamPlan far(options, imagenet);
  EXPECT_EQ(far.size(), 99968);
  EXPECT_EQ(far.windows(), 1562);
}

TEST(StreamPlan, APartialWindowIsKeptUnlessAskedOtherwise) {
  const StreamPlan plan(scenario("benign"), numbered_sources(100));

  EXPECT_EQ(plan.size(), 100);
  EXPECT_EQ(plan.windows(), 2);
}

TEST(StreamPlan, EveryTargetImageComesOnceWithItsLabel) {
  for (const char* name : {"benign", "near", "attack", "noise"}) {
    const StreamPlan plan(scenario(name), numbered_sources(300));

    const auto targets = sorted(indices(plan, Origin::kTarget));
    ASSERT_EQ(targets.size(), 300u);
    EXPECT_EQ(std::set<int64_t>(targets.begin(), targets.end()).size(), 300u);
    EXPECT_EQ(plan.benign(), 300);
    for (const SampleTruth& sample : plan.samples()) {
      EXPECT_EQ(sample.benign(), sample.origin == Origin::kTarget);
      EXPECT_EQ(sample.label, sample.benign() ? sample.index % 10 : kNoLabel);
    }
  }
}

TEST(StreamPlan, TheSameSeedGivesTheSamePlanWhateverTheWindow) {
  StreamOptions options = scenario("noise");
  const auto sources = numbered_sources(200);
  const StreamPlan plan(options, sources);

  options.window = 10;
  options.read_ahead = 0;
  EXPECT_TRUE(same_samples(StreamPlan(options, sources), plan));
  options.seed = 1;
  EXPECT_FALSE(same_samples(StreamPlan(options, sources), plan));
}

TEST(StreamPlan, TargetOrderIsTheSameInAllScenarios) {
  const auto sources = numbered_sources(200);
  const auto benign =
      indices(StreamPlan(scenario("benign"), sources), Origin::kTarget);

  for (const char* name : {"near", "attack", "noise"})
    EXPECT_EQ(indices(StreamPlan(scenario(name), sources), Origin::kTarget),
              benign);
}

TEST(StreamPlan, OrderDependsOnDatasetAndDomain) {
  const auto sources = numbered_sources(200);
  const StreamPlan plan(scenario("benign"), sources);

  auto other = sources;
  other.name = "letters";
  EXPECT_FALSE(same_samples(StreamPlan(scenario("benign"), other), plan));
  other = sources;
  other.domains[0].name = "fog-5";
  EXPECT_FALSE(same_samples(StreamPlan(scenario("benign"), other), plan));
}

TEST(StreamPlan, ForeignImagesAreResampledToTheirCount) {
  const auto times = [](int64_t foreign, int64_t targets) {
    std::map<int64_t, int> seen;
    const StreamPlan plan(scenario("near"), numbered_sources(targets, foreign));
    for (const int64_t index : indices(plan, Origin::kForeign))
      ++seen[index];
    return seen;
  };

  const auto sampled = times(500, 100);
  EXPECT_EQ(sampled.size(), 100u);
  const auto copied = times(40, 100);
  EXPECT_EQ(copied.size(), 40u);
  for (const auto& [index, count] : copied)
    EXPECT_TRUE(count == 2 || count == 3);
}

TEST(StreamPlan, AShareMayStandForACount) {
  StreamOptions options = scenario("noise");
  options.foreign_share = 0.2;

  const StreamPlan plan(options, numbered_sources(400));

  EXPECT_EQ(plan.size(), 500);
  EXPECT_EQ(plan.benign(), 400);
}

TEST(StreamPlan, MoreSamplesThanAPlanCanHoldAreRefused) {
  StreamOptions options = scenario("noise");
  options.foreign_share = 1 - 1e-12;
  expect_error(ErrorKind::kInvalid,
               "foreign_share: expected at most 100000000 foreign samples",
               [&] { StreamPlan(options, numbered_sources(50)); });
  options.foreign_share = 0;
  options.foreign_count = int64_t{1} << 50;
  expect_error(ErrorKind::kInvalid,
               "foreign_count: expected at most 100000000 foreign samples",
               [&] { StreamPlan(options, numbered_sources(50)); });
}

TEST(StreamPlan, NoForeignSamplesAreAllowed) {
  StreamOptions options = scenario("near");
  options.foreign_count = 0;

  EXPECT_EQ(StreamPlan(options, numbered_sources(50)).size(), 50);
}

TEST(StreamPlan, AttackersHoldACopyOfEveryTargetImage) {
  const StreamPlan plan(scenario("attack"), numbered_sources(150));

  EXPECT_EQ(sorted(indices(plan, Origin::kAttacker)),
            sorted(indices(plan, Origin::kTarget)));
  EXPECT_TRUE(indices(plan, Origin::kForeign).empty());
}

TEST(StreamPlan, ALimitDrawsTargetImagesThatAllScenariosShare) {
  const auto sources = numbered_sources(1000);
  StreamOptions options = scenario("benign");
  options.limit = 60;
  const auto benign = indices(StreamPlan(options, sources), Origin::kTarget);

  EXPECT_EQ(benign.size(), 60u);
  EXPECT_GT(*std::max_element(benign.begin(), benign.end()), 500);
  options.scenario = "attack";
  const StreamPlan attack(options, sources);
  EXPECT_EQ(attack.size(), 120);
  EXPECT_EQ(sorted(indices(attack, Origin::kAttacker)), sorted(benign));
  options.limit = 5000;
  EXPECT_EQ(StreamPlan(options, sources).benign(), 1000);
}

TEST(StreamPlan, BurstsKeepForeignSamplesTogether) {
  StreamOptions options = scenario("noise");
  options.burst = 20;

  const StreamPlan plan(options, numbered_sources(500));

  int64_t run = 0;
  for (const SampleTruth& sample : plan.samples()) {
    if (sample.benign()) {
      EXPECT_EQ(run % 20, 0);
      run = 0;
    } else {
      ++run;
    }
  }
  EXPECT_EQ(plan.size(), 1000);
}

TEST(StreamPlan, DirichletOrderCorrelatesLabelsAlsoWithForeignSamples) {
  const auto equal_neighbours = [](const StreamOptions& options) {
    const StreamPlan plan(options, numbered_sources(2000));
    double equal = 0;
    int64_t last = kNoLabel;
    for (const SampleTruth& sample : plan.samples()) {
      if (!sample.benign()) continue;
      equal += sample.label == last;
      last = sample.label;
    }
    return equal / 2000;
  };
  StreamOptions options = scenario("noise");

  EXPECT_NEAR(equal_neighbours(options), 0.1, 0.03);
  options.order = "dirichlet";
  EXPECT_GT(equal_neighbours(options), 0.2);
}

TEST(StreamPlan, ContinualIsOneDomainAfterAnother) {
  StreamOptions options = scenario("near");
  const StreamPlan plan(options, numbered_sources(100, 50, 3));

  ASSERT_EQ(plan.size(), 600);
  EXPECT_EQ(plan.benign(), 300);
  for (int64_t i = 0; i < plan.size(); ++i)
    EXPECT_EQ(plan[i].domain, plan[i].benign() ? i / 200 : -1);
  // Its beginning is the stream of the first domain alone.
  const StreamPlan first(options, numbered_sources(100, 50, 1));
  for (int64_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(plan[i].index, first[i].index);
}

TEST(StreamPlan, ADomainThatComesAgainHasAnotherOrder) {
  auto sources = numbered_sources(100);
  sources.domains.push_back(sources.domains[0]);

  const auto order =
      indices(StreamPlan(scenario("benign"), sources), Origin::kTarget);

  EXPECT_FALSE(
      std::equal(order.begin(), order.begin() + 100, order.begin() + 100));
}

TEST(StreamPlan, MixedGivesEveryImageADomainOfItsOwn) {
  StreamOptions options = scenario("attack");
  options.domains = "mixed";

  const StreamPlan plan(options, numbered_sources(900, 1, 3));

  ASSERT_EQ(plan.size(), 1800);
  std::map<int32_t, int> times;
  std::map<int64_t, int32_t> domain_of_image;
  for (const SampleTruth& sample : plan.samples()) {
    ++times[sample.domain];
    // The attacker's copy is corrupted like the image itself.
    const auto known = domain_of_image.emplace(sample.index, sample.domain);
    EXPECT_EQ(known.first->second, sample.domain);
  }
  ASSERT_EQ(times.size(), 3u);
  int64_t alike = 0;  // a third of them by chance
  for (int64_t i = 0; i < 600; ++i)
    alike += domain_of_image.at(i) == domain_of_image.at(i + 256);
  EXPECT_NEAR(static_cast<double>(alike), 200, 60);
  // Image and copy: a standard deviation of 28. The draws of one seed are
  // fixed.
  for (const auto& [domain, count] : times)
    EXPECT_NEAR(count, 600, 60) << domain;
}

// "T0:3 F-1:7": origin (target, foreign, attacker), domain and index.
std::string text_of(const StreamPlan& plan) {
  std::string text;
  for (const SampleTruth& sample : plan.samples())
    text += (text.empty() ? "" : " ") +
            std::string(1, "TFA"[static_cast<int>(sample.origin)]) +
            std::to_string(sample.domain) + ":" + std::to_string(sample.index);
  return text;
}

// What tools/golden/streams.py computes a second time.
TEST(StreamPlan, EqualsASecondComputation) {
  StreamOptions options = scenario("benign");
  options.seed = 3;
  options.limit = 6;
  EXPECT_EQ(text_of(StreamPlan(options, numbered_sources(12, 5))),
            "T0:3 T0:2 T0:6 T0:11 T0:7 T0:9");

  options = scenario("near");
  options.seed = 1;
  options.limit = 3;
  options.burst = 2;
  EXPECT_EQ(text_of(StreamPlan(options, numbered_sources(6, 4, 2))),
            "F-1:1 T0:1 T0:0 T0:5 F-1:2 F-1:0 T1:0 F-1:1 F-1:2 T1:1 T1:5 "
            "F-1:0");

  options = scenario("noise");
  options.seed = 2;
  options.limit = 2;
  EXPECT_EQ(text_of(StreamPlan(options, numbered_sources(5, 1))),
            "T0:3 T0:0 F-1:659230214939 F-1:1064562105007");

  options = scenario("attack");
  options.seed = 4;
  options.limit = 4;
  options.domains = "mixed";
  EXPECT_EQ(text_of(StreamPlan(options, numbered_sources(8, 1, 3))),
            "A2:7 A0:3 A2:5 A1:4 T2:5 T0:3 T1:4 T2:7");

  options = scenario("far");
  options.seed = 5;
  options.limit = 4;
  options.foreign_share = 0.4;  // 2.67 of 6.67: rounded
  EXPECT_EQ(text_of(StreamPlan(options, numbered_sources(10, 9))),
            "T0:3 T0:5 F-1:2 T0:1 T0:4 F-1:3 F-1:0");

  options = scenario("benign");
  options.seed = 6;
  options.limit = 9;
  options.order = "dirichlet";
  options.concentration = 0.5;
  EXPECT_EQ(text_of(StreamPlan(options, numbered_sources(20, 1, 1, 3))),
            "T0:12 T0:8 T0:9 T0:17 T0:1 T0:7 T0:14 T0:16 T0:3");
}

TEST(StreamPlan, AShareIsRoundedToTheNearestCount) {
  const auto foreign = [](int64_t targets, double share) {
    StreamOptions options = scenario("noise");
    options.foreign_share = share;
    return StreamPlan(options, numbered_sources(targets)).size() - targets;
  };
  EXPECT_EQ(foreign(10, 0.4), 7);   // 6.67
  EXPECT_EQ(foreign(10, 0.3), 4);   // 4.29
  EXPECT_EQ(foreign(3, 0.25), 1);   // 1 exactly
  EXPECT_EQ(foreign(10, 0.04), 0);  // 0.42
}

// Every option in turn, for streams that it means something to.
TEST(StreamPlan, EveryOptionOfAStreamChangesIt) {
  const auto sources = numbered_sources(60, 30, 2);
  const auto expect_change = [&](StreamOptions base, const auto& change) {
    const StreamPlan before(base, sources);
    change(base);
    EXPECT_FALSE(same_samples(StreamPlan(base, sources), before));
  };
  using O = StreamOptions;
  expect_change(scenario("near"), [](O& o) { o.scenario = "far"; });
  expect_change(scenario("near"), [](O& o) { o.foreign_count = 59; });
  expect_change(scenario("near"), [](O& o) { o.foreign_share = 0.4; });
  expect_change(scenario("near"), [](O& o) { o.burst = 7; });
  expect_change(scenario("near"), [](O& o) { o.limit = 59; });
  expect_change(scenario("near"), [](O& o) { o.order = "dirichlet"; });
  expect_change(scenario("near"), [](O& o) { o.domains = "mixed"; });
  expect_change(scenario("near"), [](O& o) { o.whole_windows = true; });
  expect_change(scenario("near"), [](O& o) { o.seed = 1; });
  O whole = scenario("near"), dirichlet = scenario("near");
  whole.whole_windows = true;
  expect_change(whole, [](O& o) { o.window = 63; });
  dirichlet.order = "dirichlet";
  expect_change(dirichlet, [](O& o) { o.concentration = 3; });
}

TEST(StreamPlan, TruthOfAWindowIsThatOfItsSamples) {
  const StreamPlan plan(scenario("attack"), numbered_sources(100));

  const WindowTruth window = plan.truth(64, 128);

  ASSERT_EQ(window.labels.size(0), 64);
  for (int64_t i = 0; i < 64; ++i) {
    const SampleTruth& sample = plan[64 + i];
    EXPECT_EQ(window.labels[i].item<int64_t>(), sample.label);
    EXPECT_EQ(window.benign[i].item<bool>(), sample.benign());
    EXPECT_EQ(window.attacker[i].item<bool>(), !sample.benign());
  }
  expect_error(ErrorKind::kInvalid, "within 0 .. 200, got 190 .. 201",
               [&] { plan.truth(190, 201); });
  expect_error(ErrorKind::kInvalid, "got -1 .. 5", [&] { plan.truth(-1, 5); });
  expect_error(ErrorKind::kInvalid, "got 6 .. 5", [&] { plan.truth(6, 5); });
}

TEST(StreamPlan, RefusesSourcesThatDoNotFit) {
  const auto expect_refused = [](const std::string& part, StreamOptions options,
                                 const StreamSources& sources) {
    expect_error(ErrorKind::kInvalid, part,
                 [&] { StreamPlan(options, sources); });
  };
  auto sources = numbered_sources(50);
  expect_refused("at least one domain", scenario("benign"), {});
  sources.foreign = nullptr;
  expect_refused("a foreign set with images for far", scenario("far"), sources);
  sources.domains.push_back({"d1", testing::numbered_images(49, 1)});
  expect_refused("d1 differs from d0", scenario("benign"), sources);
  sources.domains[1].images = nullptr;
  expect_refused("images in the domain d1", scenario("benign"), sources);
  StreamOptions whole = scenario("benign");
  whole.whole_windows = true;
  expect_refused("one whole window of 64 samples, got 50", whole,
                 numbered_sources(50));
  expect_refused("at least one target image", scenario("benign"),
                 numbered_sources(0));
}

}  // namespace
}  // namespace sotta
