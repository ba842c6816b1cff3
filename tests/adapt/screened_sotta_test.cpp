#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include "sotta/core/error.h"

#include "adapt/methods/sotta.h"
#include "engine/wrapped_classifier.h"
#include "tests/adapt/halves_classifier.h"
#include "tests/adapt/small_adapter.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::golden_network;
using testing::golden_stream;
using testing::halves;
using testing::noise;

constexpr int64_t kWindow = 16;

at::Tensor window(int64_t index) {
  return golden_stream().slice(0, kWindow * index, kWindow * (index + 1));
}

// The last 16 images, whatever is thought of them, and plain steps.
ScreenedSottaOptions simple() {
  ScreenedSottaOptions options;
  options.memory = "fifo";
  options.memory_capacity = kWindow;
  options.sharpness = false;
  options.stats_updates = 1;
  options.screen = false;
  options.warm_prior = kWindow;
  return options;
}

std::unique_ptr<Adapter> make(const ScreenedSottaOptions& options,
                              std::shared_ptr<const Classifier> model,
                              int64_t interval) {
  MethodContext context;
  context.model = std::move(model);
  context.update_interval = interval;
  return std::make_unique<Adapter>(
      "screened_sotta", make_screened_sotta(context, options), context);
}
std::unique_ptr<Adapter> make(const ScreenedSottaOptions& options) {
  return make(options, golden_network(), kWindow);
}

::testing::AssertionResult same(const at::Tensor& a, const at::Tensor& b) {
  if (at::allclose(a, b, 1e-5, 1e-6)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "differ by " << (a - b).abs().max().item<double>();
}

// Shipped statistics count for 16, each window for 16 more: the shares of the
// first three windows are 1/2, 1/3 and 1/4.
TEST(ScreenedSotta, AveragesAllThatCameUntilTheMemoryIsFull) {
  ScreenedSottaOptions options = simple();
  options.memory_capacity = 1000;
  const auto adapter = make(options);
  ModelState expected = adapter->model().source().clone_norm();
  for (int64_t i = 0; i < 3; ++i) {
    const ForwardResult pass = adapter->model().forward(
        window(i), expected,
        NormStats::blended(1 / (2.0 + static_cast<double>(i))));
    const StepResult result = adapter->step(window(i));
    EXPECT_TRUE(same(result.logits, pass.logits)) << i;
    EXPECT_TRUE(same(adapter->state().running_mean, pass.batch_mean)) << i;
    EXPECT_TRUE(same(adapter->state().running_var, pass.batch_var)) << i;
    ASSERT_EQ(result.updates.size(), 1U);
    EXPECT_EQ(result.updates[0].skipped, "the memory is filling");
    expected.running_mean = pass.batch_mean;
    expected.running_var = pass.batch_var;
  }
}

// Of four updates the first leaves the averages 3/4: the memory's statistics
// come in with a quarter of the momentum, 0.05.
TEST(ScreenedSotta, HandsTheStatisticsOverToTheMemoryStepByStep) {
  ScreenedSottaOptions options = simple();
  options.warm_updates = 4;
  const auto adapter = make(options);
  EXPECT_NEAR(adapter->method().statistics_share(), 1 - 0.5 * 0.95, 1e-12);
  ModelState averages = adapter->model().source().clone_norm();
  const ForwardResult seen =
      adapter->model().forward(window(0), averages, NormStats::blended(0.5));
  averages.running_mean = seen.batch_mean;
  averages.running_var = seen.batch_var;
  const ForwardResult memory =
      adapter->model().forward(window(0), averages, NormStats::batch());
  adapter->step(window(0));
  EXPECT_EQ(adapter->updates(), 1);
  EXPECT_TRUE(same(adapter->state().running_mean,
                   seen.batch_mean.lerp(memory.batch_mean, 0.05)));
  EXPECT_TRUE(same(adapter->state().running_var,
                   seen.batch_var.lerp(memory.batch_var, 0.05)));

  EXPECT_NEAR(adapter->method().statistics_share(), 1 - 0.75 * 0.9, 1e-12);

  // The second window's share is 3/4 of 1/3.
  const ForwardResult next = adapter->model().forward(
      window(1), adapter->state(), NormStats::blended(0.25));
  EXPECT_TRUE(same(adapter->step(window(1)).logits, next.logits));
}

// Noise leaves the network too unsure for the memory.
TEST(ScreenedSotta, HandsNothingOverWhereTheMemoryIsEmpty) {
  ScreenedSottaOptions options = simple();
  options.memory = "hus_cleared";
  options.min_confidence = 0.99999;
  options.warm_updates = 4;
  options.warm_prior = 1e12;  // no averages
  const auto adapter =
      make(options, std::make_shared<testing::HalvesClassifier>(), kWindow);
  adapter->step(halves(kWindow, 1));
  ASSERT_EQ(adapter->updates(), 1);
  const double share = adapter->method().statistics_share();

  const StepResult result = adapter->step(noise(kWindow, 2));

  EXPECT_EQ(result.updates.at(0).skipped, "the memory is empty");
  EXPECT_NEAR(adapter->method().statistics_share(), share, 1e-9);
}

TEST(ScreenedSotta, LooksAtEachImageAloneOnceTheMemoryHasTakenOver) {
  ScreenedSottaOptions options = simple();
  options.warm_updates = 2;
  const auto adapter = make(options);
  adapter->step(window(0));
  EXPECT_EQ(adapter->method().prediction_stats().source,
            NormStats::Source::kBlended);
  adapter->step(window(1));
  EXPECT_EQ(adapter->method().prediction_stats().source,
            NormStats::Source::kRunning);
  const at::Tensor whole = adapter->predict_logits(window(2));
  EXPECT_TRUE(
      same(adapter->predict_logits(window(2).slice(0, 3, 4)), whole[3]));
  options.warm_updates = 0;
  const auto at_once = make(options);
  at_once->step(window(0));
  EXPECT_EQ(at_once->method().prediction_stats().source,
            NormStats::Source::kRunning);
}

// An attacker's images in the same call must not move others' predictions.
TEST(ScreenedSotta, LooksAtEachImageAloneAfterTheFirstAndAveragesOn) {
  ScreenedSottaOptions options = simple();
  options.memory_capacity = 1000;
  options.warm_own = kWindow;
  const auto adapter = make(options);
  adapter->step(window(0));
  const ForwardResult alone = adapter->model().forward(
      window(1), adapter->state(), NormStats::running());
  const ForwardResult averaged = adapter->model().forward(
      window(1), adapter->state(), NormStats::blended(1.0 / 3));

  EXPECT_EQ(adapter->method().prediction_stats().source,
            NormStats::Source::kRunning);
  EXPECT_TRUE(same(adapter->step(window(1)).logits, alone.logits));
  EXPECT_TRUE(same(adapter->state().running_mean, averaged.batch_mean));
  EXPECT_TRUE(same(adapter->state().running_var, averaged.batch_var));
}

TEST(ScreenedSotta, MayAverageAllImagesStatisticsIntoTheirPredictions) {
  ScreenedSottaOptions options = simple();
  options.memory_capacity = 1000;
  options.warm_own = -1;
  const auto adapter = make(options);
  for (int64_t i = 0; i < 20; ++i)
    adapter->step(window(0));
  EXPECT_EQ(adapter->method().prediction_stats().source,
            NormStats::Source::kBlended);
}

// Half of each window is noise: every second one completes 64 of its own.
TEST(ScreenedSotta, LearnsOncePerWindowOfImagesThatAreNotForeign) {
  ScreenedSottaOptions options = simple();
  options.screen = true;
  for (const bool pace : {true, false}) {
    options.screen_pace = pace;
    const auto adapter =
        make(options, std::make_shared<testing::HalvesClassifier>(), 64);
    std::vector<bool> applied;
    for (uint64_t i = 0; i < 5; ++i) {
      const auto result =
          adapter->step(at::cat({halves(32, i), noise(32, 100 + i)}));
      EXPECT_EQ(result.verdicts[0], Verdict::kAdmitted);
      EXPECT_EQ(result.verdicts[63], Verdict::kForeign);
      applied.push_back(result.updates.at(0).applied);
    }
    EXPECT_EQ(applied,
              pace ? std::vector<bool>({false, true, false, true, false})
                   : std::vector<bool>(5, true));
  }
}

// Its screen sees nothing foreign in a stream of one kind.
TEST(ScreenedSotta, LearnsFromEveryWindowWhereNothingIsForeign) {
  ScreenedSottaOptions options = simple();
  options.screen = true;
  const auto adapter =
      make(options, std::make_shared<testing::HalvesClassifier>(), 64);
  for (uint64_t i = 0; i < 4; ++i)
    EXPECT_TRUE(adapter->step(halves(64, i)).updates.at(0).applied) << i;
}

// Every second image is noise; the first 64 are looked at before they are
// parted.
TEST(ScreenedSotta, TellsForeignImagesInWindowsOfOne) {
  ScreenedSottaOptions options = simple();
  options.screen = true;
  options.warm_start = false;
  const auto adapter =
      make(options, std::make_shared<testing::HalvesClassifier>(), 1);
  for (uint64_t i = 0; i < 160; ++i) {
    const bool foreign = i % 2 == 1;
    const auto result =
        adapter->step(foreign ? noise(1, 1000 + i) : halves(1, i));
    if (i < 64) continue;
    EXPECT_EQ(result.verdicts[0],
              foreign ? Verdict::kForeign : Verdict::kAdmitted)
        << i;
    EXPECT_EQ(result.updates.at(0).applied, !foreign) << i;
  }
}

// The statistics of one image count for a seventeenth of the first averages.
TEST(ScreenedSotta, AveragesStatisticsInWindowsOfOne) {
  const auto adapter = make(simple(), golden_network(), 1);
  const at::Tensor image = golden_stream().slice(0, 0, 1);
  const ForwardResult pass = adapter->model().forward(
      image, adapter->model().source(), NormStats::blended(1.0 / 17));
  EXPECT_TRUE(same(adapter->step(image).logits, pass.logits));
  EXPECT_TRUE(same(adapter->state().running_var, pass.batch_var));
  for (int64_t i = 1; i < kWindow; ++i) {
    EXPECT_EQ(adapter->updates(), 0);
    adapter->step(golden_stream().slice(0, i, i + 1));
  }
  EXPECT_EQ(adapter->updates(), 1);  // the memory is full
}

// A white image gives no numbers, and with it all that is normalised with its
// statistics.
struct AfraidOfWhite : engine::WrappedClassifier {
  AfraidOfWhite()
      : WrappedClassifier(make_classifier(
            testing::Golden("methods/network").file(), {}, "afraid")) {}
  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ForwardResult result = reference().forward(images, state, stats);
    const at::Tensor white = (images == 255).flatten(1).all(1);
    const auto none = std::numeric_limits<float>::quiet_NaN();
    const bool shared = stats.source != NormStats::Source::kRunning;
    if (!white.any().item<bool>()) return result;
    result.logits = result.logits.masked_fill(
        shared ? white.any() : white.unsqueeze(1), none);
    if (shared) {
      result.batch_mean.fill_(none);
      result.batch_var.fill_(none);
    }
    return result;
  }
  std::string engine() const override { return "afraid of white"; }
};

TEST(ScreenedSotta, AnImageThatGivesNoNumbersIsNotInTheAverages) {
  ScreenedSottaOptions options = simple();
  options.memory_capacity = 1000;
  const auto adapter =
      make(options, std::make_shared<AfraidOfWhite>(), kWindow);
  adapter->step(window(0));
  const at::Tensor mean = adapter->state().running_mean.clone();
  at::Tensor images = window(1).clone();
  images[3].fill_(255);

  const Prediction predicted = adapter->predict(images);
  const StepResult result = adapter->step(images);

  for (const Prediction& prediction : {predicted, result.prediction})
    for (int64_t i = 0; i < kWindow; ++i)
      EXPECT_EQ(is_finite(prediction, i), i != 3) << i;
  EXPECT_EQ(result.verdicts[3], Verdict::kNotFinite);
  EXPECT_TRUE(adapter->state().running_mean.equal(mean));
  EXPECT_TRUE(all_finite(adapter->step(window(2)).prediction));
}

// Predicted by what came before, the others enter the averages without it.
TEST(ScreenedSotta, AnImageThatGivesNoNumbersIsLeftOutOfItsCallsAverages) {
  ScreenedSottaOptions options = simple();
  options.memory_capacity = 1000;
  options.warm_own = kWindow;
  const auto adapter =
      make(options, std::make_shared<AfraidOfWhite>(), kWindow);
  adapter->step(window(0));
  const ForwardResult rest = adapter->model().forward(
      window(1).slice(0, 1), adapter->state(), NormStats::blended(15.0 / 47));
  at::Tensor images = window(1).clone();
  images[0].fill_(255);

  const StepResult result = adapter->step(images);

  for (int64_t i = 0; i < kWindow; ++i)
    EXPECT_EQ(is_finite(result.prediction, i), i != 0) << i;
  EXPECT_TRUE(same(adapter->state().running_mean, rest.batch_mean));
  EXPECT_TRUE(same(adapter->state().running_var, rest.batch_var));
}

// Logits stay finite where a variance does not: a channel then gives its shift.
struct VariesWithoutBoundInWhite : engine::WrappedClassifier {
  VariesWithoutBoundInWhite()
      : WrappedClassifier(make_classifier(
            testing::Golden("methods/network").file(), {}, "unbound")) {}
  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    ForwardResult result = reference().forward(images, state, stats);
    if (stats.source != NormStats::Source::kRunning &&
        (images == 255).flatten(1).all(1).any().item<bool>())
      result.batch_var[0] = std::numeric_limits<float>::infinity();
    return result;
  }
  std::string engine() const override { return "unbound in white"; }
};

TEST(ScreenedSotta, StatisticsThatAreNotFiniteDoNotEnterTheAverages) {
  for (const int64_t own : {int64_t{-1}, kWindow}) {
    ScreenedSottaOptions options = simple();
    options.memory_capacity = 1000;
    options.warm_own = own;
    const auto adapter =
        make(options, std::make_shared<VariesWithoutBoundInWhite>(), kWindow);
    adapter->step(window(0));
    const ModelState before = adapter->state().clone_norm();
    at::Tensor images = window(1).clone();
    images[0].fill_(255);
    adapter->step(images);
    EXPECT_TRUE(adapter->state().running_mean.equal(before.running_mean));
    EXPECT_TRUE(adapter->state().running_var.equal(before.running_var));
    adapter->step(window(2));
    EXPECT_FALSE(adapter->state().running_var.equal(before.running_var));
  }
}

// The default method takes whatever the others take.
TEST(ScreenedSotta, TakesImagesOfOnePixel) {
  const auto network = std::make_shared<testing::LinearClassifier>(2, 4);
  const auto adapter = make({}, network, kWindow);
  EXPECT_EQ(adapter->step(testing::two_class_images(std::vector<double>(70, 1)))
                .verdicts.size(),
            70U);
}

TEST(ScreenedSotta, TakesSnapshotsOfVersionsThatHandedOverAtOnce) {
  ScreenedSottaOptions options = simple();
  options.screen = true;
  const auto first = make(options), second = make(options);
  first->step(window(0));
  Snapshot snapshot = first->snapshot();
  for (const char* name : {"warming.handed_over", "screen.unlearnt"})
    ASSERT_EQ(snapshot.tensors.erase(name), 1U) << name;
  second->restore(snapshot);
  EXPECT_EQ(second->method().prediction_stats().source,
            NormStats::Source::kRunning);

  snapshot.tensors["warming"] = at::full({1}, 1, at::kLong);  // was filling
  second->restore(snapshot);
  EXPECT_EQ(second->method().prediction_stats().source,
            NormStats::Source::kBlended);
}

TEST(ScreenedSotta, RefusesSnapshotsWithCountsThatCannotBe) {
  ScreenedSottaOptions options = simple();
  options.screen = true;
  const auto adapter = make(options);
  adapter->step(window(0));
  const Snapshot good = adapter->snapshot();
  for (const char* name : {"warming", "warming.seen", "warming.handed_over",
                           "screen.unlearnt", "memory.offered"})
    for (const int64_t count :
         {int64_t{-80}, std::numeric_limits<int64_t>::max()}) {
      Snapshot damaged = good;
      damaged.tensors.at(name) = at::full({1}, count, at::kLong);
      EXPECT_THROW(adapter->restore(damaged), Error) << name << " " << count;
    }
  EXPECT_NO_THROW(adapter->restore(good));
}

}  // namespace
}  // namespace sotta
