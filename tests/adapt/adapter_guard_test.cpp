#include <limits>

#include <ATen/ops/rand.h>

#include "sotta/adapt/adapter.h"
#include "sotta/core/error.h"

#include "tests/adapt/guarded.h"

namespace sotta {
namespace {

using testing::Guarded;
using testing::scalar;
using testing::with_action;

TEST(Guard, OffLetsEverythingPass) {
  Guarded guarded(with_action("off"));
  guarded.method->report.loss = scalar(std::nan(""));
  EXPECT_TRUE(guarded.window().updates[0].applied);
  EXPECT_EQ(guarded.value(), 1);
}

TEST(Guard, SkipTakesBackAnUpdateWhoseLossIsNotFinite) {
  Guarded guarded(with_action("skip"));
  guarded.window();
  guarded.method->report.loss = scalar(std::nan(""));

  const StepResult result = guarded.window();

  EXPECT_EQ(guarded.value(), 1);
  EXPECT_FALSE(result.updates[0].applied);
  EXPECT_EQ(result.guard, "loss is not finite; skip");
  EXPECT_EQ(result.verdicts[0], Verdict::kGuard);
  EXPECT_EQ(guarded.adapter->samples(), 4);
}

TEST(Guard, InfiniteGradientAndLargeChangeTripToo) {
  Guarded guarded(with_action("skip"));
  guarded.method->report.gradient_norm =
      scalar(std::numeric_limits<double>::infinity());
  EXPECT_EQ(guarded.window().guard, "gradient is not finite; skip");

  guarded.method->report.gradient_norm = scalar(1);
  guarded.method->report.parameter_change = scalar(1.5);
  EXPECT_EQ(guarded.window().guard, "parameter change 1.5 is above 1; skip");
}

TEST(Guard, RollbackReturnsToTheLastGoodSnapshot) {
  Guarded guarded(with_action("rollback"));
  for (int i = 0; i < 3; ++i)
    guarded.window();  // snapshot after the second
  guarded.method->report.loss = scalar(std::nan(""));
  guarded.window();
  EXPECT_EQ(guarded.value(), 2);
}

TEST(Guard, ResetReturnsToTheSource) {
  Guarded guarded(with_action("reset"));
  for (int i = 0; i < 3; ++i)
    guarded.window();
  guarded.method->report.loss = scalar(std::nan(""));
  guarded.window();
  EXPECT_EQ(guarded.value(), 0);
}

TEST(Guard, CollapseOfThePredictedClassesTrips) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  guarded.method->label = 3;
  EXPECT_EQ(guarded.window().guard, "");  // not enough history yet
  EXPECT_EQ(guarded.window().guard,
            "100 % of the predictions are class 3; skip");
}

TEST(Guard, VariedPredictionsDoNotTrip) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  for (int64_t i = 0; i < 6; ++i) {
    guarded.method->label = i % 2;
    EXPECT_EQ(guarded.window().guard, "");
  }
}

TEST(Guard, NothingOrEverythingAdmittedForLongTrips) {
  GuardOptions options = with_action("skip");
  options.min_admitted_share = 0.1;
  Guarded starved(options);
  starved.method->verdict = Verdict::kLowConfidence;
  starved.window();
  EXPECT_EQ(starved.window().guard,
            "only 0 % of the samples are admitted; skip");

  options.min_admitted_share = 0;
  options.max_admitted_share = 0.9;
  Guarded open(options);
  open.window();
  EXPECT_EQ(open.window().guard, "100 % of the samples are admitted; skip");
}

// Windows of class 0 once and then of class 1, of which the guard sees the last
// two: the third window is the first that it finds to be all of one class.
TEST(Guard, LooksAtAsManyWindowsAsItsHistoryIsLong) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  EXPECT_EQ(guarded.window().guard, "");
  guarded.method->label = 1;
  EXPECT_EQ(guarded.window().guard, "");
  EXPECT_EQ(guarded.window().guard,
            "100 % of the predictions are class 1; skip");
}

TEST(Guard, AHistoryOfOneWindowIsLookedAtAtOnce) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  options.history = 1;
  Guarded guarded(options);
  EXPECT_NE(guarded.window().guard, "");
}

// Two windows, one of each class: half of the predictions are class 0.
TEST(Guard, AShareTripsAboveItsLimitNotAtIt) {
  for (const auto& [limit, expected] :
       {std::pair{0.5, std::string()},
        std::pair{0.4999, std::string("50 % of the predictions are class 0; "
                                      "skip")}}) {
    GuardOptions options = with_action("skip");
    options.max_class_share = limit;
    Guarded guarded(options);
    guarded.window();
    guarded.method->label = 1;
    EXPECT_EQ(guarded.window().guard, expected);
  }
}

// The same with half of the samples admitted, and both limits.
TEST(Guard, AdmissionsTripBeyondTheirLimitsNotAtThem) {
  const auto after_two = [](double least, double most) {
    GuardOptions options = with_action("skip");
    options.min_admitted_share = least;
    options.max_admitted_share = most;
    Guarded guarded(options);
    guarded.window();
    guarded.method->verdict = Verdict::kLowConfidence;
    return guarded.window().guard;
  };
  EXPECT_EQ(after_two(0.5, 0.5), "");
  EXPECT_EQ(after_two(0.5001, 1),
            "only 50 % of the samples are admitted; skip");
  EXPECT_EQ(after_two(0, 0.4999), "50 % of the samples are admitted; skip");
}

// Of methods that judge in their update, a sample is judged once: not while it
// waits. Those that learn from none judge none.
TEST(Guard, SamplesThatWaitAreNotJudgedYet) {
  GuardOptions options = with_action("skip");
  options.min_admitted_share = 0.6;
  Guarded guarded(options);
  guarded.method->verdict = Verdict::kPending;
  guarded.method->report.verdicts = {Verdict::kAdmitted, Verdict::kAdmitted};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(guarded.window().guard, "") << i;

  Guarded unscreened(options);
  unscreened.method->verdict = Verdict::kNotScreened;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(unscreened.window().guard, "") << i;
}

TEST(Guard, AParameterChangeTripsAboveItsLimitNotAtIt) {
  GuardOptions options = with_action("skip");
  options.max_parameter_change = 0.25;
  Guarded guarded(options);
  guarded.method->report.parameter_change = scalar(0.25);
  EXPECT_EQ(guarded.window().guard, "");
  guarded.method->report.parameter_change = scalar(0.26);
  EXPECT_NE(guarded.window().guard, "");

  options.max_parameter_change = 0;  // no limit
  Guarded unlimited(options);
  unlimited.method->report.parameter_change = scalar(1e9);
  EXPECT_EQ(unlimited.window().guard, "");
}

TEST(Guard, ALossAtTheSharpestPointThatIsNotFiniteTrips) {
  Guarded guarded(with_action("skip"));
  guarded.method->report.perturbed_loss = scalar(std::nan(""));
  EXPECT_EQ(guarded.window().guard,
            "loss at the sharpest point is not finite; skip");
  guarded.method->report.perturbed_loss = at::Tensor();
  guarded.method->report.parameter_change = scalar(std::nan(""));
  EXPECT_EQ(guarded.window().guard, "parameter change is not finite; skip");
}

TEST(Guard, HistoryStartsAfreshAfterATrip) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  guarded.window();
  EXPECT_NE(guarded.window().guard, "");
  EXPECT_EQ(guarded.window().guard, "");
}

// A trial step is no part of the stream: what a guard would take back stays for
// the caller to take back, and counts for nothing afterwards.
TEST(Guard, ARehearsalIsNotGuarded) {
  GuardOptions options = with_action("reset");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  const Snapshot before = guarded.adapter->snapshot();
  guarded.method->report.loss = scalar(std::nan(""));

  for (int i = 0; i < 3; ++i) {
    const StepResult result =
        guarded.adapter->rehearse(at::rand({2, 3, 16, 16}));
    EXPECT_TRUE(result.updates[0].applied);
    EXPECT_EQ(result.guard, "");
  }

  EXPECT_EQ(guarded.value(), 3);
  guarded.adapter->take_back(before);
  EXPECT_NE(guarded.window().guard, "");  // back on duty
}

TEST(Guard, ARehearsalLeavesTheHistoryAlone) {
  GuardOptions options = with_action("skip");
  options.max_class_share = 0.9;
  Guarded guarded(options);
  guarded.window();
  const Snapshot before = guarded.adapter->snapshot();
  guarded.adapter->rehearse(at::rand({2, 3, 16, 16}));
  guarded.adapter->take_back(before);
  EXPECT_NE(guarded.window().guard, "");
}

TEST(Guard, ARehearsalLeavesTheImagesSizeAlone) {
  Guarded guarded(with_action("skip"));
  guarded.window();  // no image waits, so that snapshots hold none
  const int64_t height = guarded.adapter->image_height();
  const Snapshot before = guarded.adapter->snapshot();
  guarded.adapter->rehearse(at::rand({2, 3, 16, 16}));
  guarded.adapter->take_back(before);
  EXPECT_GT(height, 0);
  EXPECT_EQ(guarded.adapter->image_height(), height);
}

// A call of three windows, of which the second goes wrong.
TEST(Guard, LabelsOnlyTheSamplesOfTheWindowThatItTakesBack) {
  Guarded guarded(with_action("skip"));
  guarded.method->script = [](UpdateReport& report, int64_t updates) {
    report.loss = scalar(updates == 1 ? std::nan("") : 1);
  };

  const StepResult result = guarded.adapter->step(at::rand({6, 3, 16, 16}));

  const Verdict stands = Verdict::kAdmitted, taken_back = Verdict::kGuard;
  EXPECT_EQ(result.verdicts,
            (std::vector<Verdict>{stands, stands, taken_back, taken_back,
                                  stands, stands}));
  EXPECT_EQ(guarded.value(), 2);
}

TEST(Guard, LabelsTheTailOfAWindowThatBeganInAnEarlierCall) {
  Guarded guarded(with_action("skip"));
  guarded.method->report.loss = scalar(std::nan(""));
  guarded.adapter->step(at::rand({1, 3, 16, 16}));
  const StepResult result = guarded.adapter->step(at::rand({2, 3, 16, 16}));
  EXPECT_EQ(result.verdicts,
            (std::vector<Verdict>{Verdict::kGuard, Verdict::kAdmitted}));
}

TEST(Guard, SaysEveryTripOfACall) {
  Guarded guarded(with_action("skip"));
  guarded.method->script = [](UpdateReport& report, int64_t updates) {
    report.loss = scalar(updates == 0 ? std::nan("") : 1);
    report.gradient_norm = scalar(updates == 1 ? std::nan("") : 1);
  };
  EXPECT_EQ(guarded.adapter->step(at::rand({6, 3, 16, 16})).guard,
            "loss is not finite; skip, then gradient is not finite; skip");
}

TEST(Guard, RefusesOptionsOutOfRange) {
  GuardOptions options;
  options.action = "panic";
  EXPECT_THROW(validate(options), Error);
  options = {};
  options.max_class_share = 1.1;
  EXPECT_THROW(validate(options), Error);
  options = {};
  options.history = 0;
  EXPECT_THROW(validate(options), Error);
  options = {};
  options.max_parameter_change = -1;
  EXPECT_THROW(validate(options), Error);
  options = {};
  options.min_admitted_share = -0.1;
  EXPECT_THROW(validate(options), Error);
  options = {};
  options.max_admitted_share = 1.1;
  EXPECT_THROW(validate(options), Error);
}

}  // namespace
}  // namespace sotta
