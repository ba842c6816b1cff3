#include "adapt/floor/floor.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "sotta/adapt/adapter.h"
#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/models/weights.h"

#include "engine/cuda/cuda_classifier.h"
#include "tests/support/expect_error.h"
#include "tests/support/lane_runs.h"
#include "tests/support/linear_classifier.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

constexpr int64_t kClasses = 4;
constexpr int64_t kWindow = 32;

// Images of the classes in turn: pixel c of class c is bright.
at::Tensor images(int64_t count) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i)
    labels.push_back(i % kClasses);
  return at::one_hot(at::tensor(labels, at::kLong), kClasses)
      .to(at::kFloat)
      .reshape({count, kClasses, 1, 1});
}

// Says what a test wants it to; `value` is what it has learnt.
class Speaker : public Method {
 public:
  explicit Speaker(std::shared_ptr<const Classifier> model)
      : model_(std::move(model)) {}

  std::function<at::Tensor(const at::Tensor& pixels)> says;
  at::Tensor value = at::zeros({1});

  at::Tensor predict(const at::Tensor& given) const override {
    return says(given.flatten(1));
  }
  Observation observe(const at::Tensor& given, bool) override {
    const at::Tensor logits = predict(given);
    return observed(logits, classify(logits), Verdict::kAdmitted);
  }
  UpdateReport update() override {
    value.add_(1);
    UpdateReport report;
    report.applied = true;
    return report;
  }
  void exchange(StateArchive& archive) override { archive("value", value); }
  ModelState state() const override {
    ModelState state = model_->source().clone_norm();
    state.affine.add_(1);
    return state;
  }
  NormStats prediction_stats() const override { return NormStats::batch(); }

 private:
  std::shared_ptr<const Classifier> model_;
};

at::Tensor right(const at::Tensor& pixels) {
  return 12 * pixels;
}
at::Tensor collapsed(const at::Tensor& pixels) {
  at::Tensor logits = at::zeros_like(pixels);
  logits.select(1, 3).fill_(12);
  return logits;
}
at::Tensor broken(const at::Tensor& pixels) {
  return at::full_like(pixels, std::numeric_limits<float>::quiet_NaN());
}

// A source model that is right on everything and fairly sure; `scale` 0: one
// that says nothing.
struct Stream {
  explicit Stream(const GuardOptions& changes = {}, double scale = 4) {
    GuardOptions options = changes;
    options.action = "floor";
    MethodContext context;
    context.model =
        std::make_shared<testing::LinearClassifier>(kClasses, scale);
    context.update_interval = kWindow;
    auto owned = std::make_unique<Speaker>(context.model);
    method = owned.get();
    method->says = right;
    adapter = std::make_unique<Adapter>("speaker", std::move(owned), context,
                                        options);
  }
  StepResult window() { return adapter->step(images(kWindow)); }
  double value() const { return method->value.item<double>(); }

  // Windows until the source model answers, at most 40.
  int64_t until_source_answers() {
    int64_t windows = 0;
    while (!adapter->source_answers() && windows < 40) {
      window();
      ++windows;
    }
    return windows;
  }

  Speaker* method;
  std::unique_ptr<Adapter> adapter;
};

GuardOptions looking_always() {
  GuardOptions options;
  options.look_every = 1;
  return options;
}

TEST(Floor, LetsABetterNetworkAnswerAndLearn) {
  Stream stream;
  for (int i = 0; i < 40; ++i) {
    const StepResult result = stream.window();
    EXPECT_EQ(result.guard, "");
    EXPECT_EQ(result.by_source, 0);
    EXPECT_FALSE(result.updates[0].source_answers);
  }
  EXPECT_EQ(stream.value(), 40);
}

TEST(Floor, LetsANetworkThatSaysTheSameAnswer) {
  Stream stream;
  stream.method->says = [](const at::Tensor& pixels) { return 4 * pixels; };
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(stream.window().guard, "");
}

// 64 images are needed: two windows of 32, and every second is looked at.
TEST(Floor, TheSourceModelAnswersForANetworkThatHasCollapsed) {
  for (const auto& [every, windows] : {std::pair{1, 2}, std::pair{2, 3}}) {
    GuardOptions options;
    options.look_every = every;
    Stream stream(options);
    stream.method->says = collapsed;
    for (int i = 1; i < windows; ++i)
      EXPECT_EQ(stream.window().guard, "") << every;
    const StepResult last = stream.window();
    EXPECT_NE(last.guard.find("less than the source model's; reset"),
              std::string::npos)
        << last.guard;
    EXPECT_EQ(last.by_source, 0);
    EXPECT_TRUE(last.updates[0].source_answers);
    EXPECT_FALSE(last.updates[0].applied);
    EXPECT_EQ(last.verdicts[0], Verdict::kGuard);
    EXPECT_EQ(stream.value(), 0);

    const StepResult next = stream.window();
    EXPECT_EQ(next.by_source, kWindow);
    EXPECT_TRUE(
        next.prediction.labels.equal(images(kWindow).flatten(1).argmax(1)));
    EXPECT_TRUE(next.logits.equal(4 * images(kWindow).flatten(1)));
  }
}

TEST(Floor, WhatAnswersIsWhatIsAskedAndExported) {
  Stream stream;
  const at::Tensor& source = stream.adapter->model().source().affine;
  EXPECT_FALSE(stream.adapter->state().affine.equal(source));
  EXPECT_EQ(stream.adapter->prediction_stats().source,
            NormStats::Source::kBatch);
  stream.method->says = collapsed;
  stream.until_source_answers();
  EXPECT_TRUE(stream.adapter->state().affine.equal(source));
  EXPECT_EQ(stream.adapter->prediction_stats().source,
            NormStats::Source::kRunning);
  EXPECT_TRUE(stream.adapter->predict(images(8)).labels.equal(
      images(8).flatten(1).argmax(1)));
}

// After 128 images that it has answered since.
TEST(Floor, TheAdaptedNetworkAnswersAgainOnceItIsAhead) {
  Stream stream;
  stream.method->says = collapsed;
  stream.until_source_answers();
  stream.method->says = right;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(stream.adapter->source_answers()) << i;
    EXPECT_EQ(stream.window().guard, "");
  }
  EXPECT_FALSE(stream.adapter->source_answers());
  EXPECT_EQ(stream.window().by_source, 0);
  EXPECT_EQ(stream.value(), 5) << "it went on learning";
}

TEST(Floor, OneThatSaysTheSameDoesNotAnswerAgain) {
  Stream stream;
  stream.method->says = collapsed;
  stream.until_source_answers();
  stream.method->says = [](const at::Tensor& pixels) { return 4 * pixels; };
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(stream.window().by_source, kWindow);
}

TEST(Floor, GoesBackToTheGoodStateOnceAndThenToTheSource) {
  for (const auto& astray : {collapsed, broken}) {
    GuardOptions options = looking_always();
    options.history = 4;
    Stream stream(options);
    for (int i = 0; i < 6; ++i)
      stream.window();  // good after the fourth
    stream.method->says = astray;
    stream.until_source_answers();
    EXPECT_EQ(stream.value(), 4);
    stream.method->says = broken;
    EXPECT_NE(stream.window().guard.find("reset"), std::string::npos);
    EXPECT_EQ(stream.value(), 0);
  }
}

// Four histories of windows behind: afresh.
TEST(Floor, ANetworkThatDoesNotGetAheadBeginsAfresh) {
  GuardOptions options = looking_always();
  options.history = 2;
  Stream stream(options);
  stream.method->says = collapsed;
  stream.until_source_answers();
  int64_t windows = 0;
  while (stream.window().guard.empty() && windows < 40)
    ++windows;
  EXPECT_EQ(windows, 8);  // the first has too few images to say anything
  EXPECT_EQ(stream.value(), 0);
  EXPECT_TRUE(stream.adapter->source_answers());
}

// So long that four times as long is no number.
TEST(Floor, WaitsAsLongAsTheLongestHistory) {
  GuardOptions options = looking_always();
  options.history = std::numeric_limits<int64_t>::max();
  Stream stream(options);
  stream.method->says = collapsed;
  stream.until_source_answers();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(stream.window().guard, "") << i;
}

TEST(Floor, AnswersThatAreNoNumbersAreReplacedAtOnce) {
  Stream stream;
  stream.window();
  stream.method->says = broken;
  const StepResult result = stream.window();
  EXPECT_EQ(result.by_source, kWindow);
  EXPECT_TRUE(all_finite(result.prediction));
  EXPECT_EQ(result.guard,
            "the adapted network's answers are not finite; reset");
  EXPECT_EQ(result.verdicts[0], Verdict::kNotFinite);
  EXPECT_TRUE(stream.adapter->source_answers());
  EXPECT_EQ(stream.window().by_source, kWindow);
}

TEST(Floor, WhereTheSourceModelIsBrokenTooNothingIsDone) {
  Stream stream({}, std::numeric_limits<double>::quiet_NaN());
  stream.method->says = broken;
  for (int i = 0; i < 8; ++i) {
    const StepResult result = stream.window();
    EXPECT_EQ(result.by_source, 0);
    EXPECT_EQ(result.guard, "");
  }
}

// All of class 2: the adapted network is surer of it than the source model.
TEST(Floor, AStreamOfOneClassIsNoCollapse) {
  Stream stream;
  at::Tensor one = at::zeros({kWindow, kClasses, 1, 1});
  one.select(1, 2).fill_(1);
  for (int i = 0; i < 20; ++i) {
    const StepResult result = stream.adapter->step(one);
    EXPECT_EQ(result.guard, "");
    EXPECT_EQ(result.by_source, 0);
  }
}

TEST(Floor, ImagesMayComeOneAtATime) {
  Stream whole, single;
  for (const auto stream : {&whole, &single})
    stream->method->says = collapsed;
  const at::Tensor all = images(6 * kWindow);
  std::vector<int64_t> by_whole, by_single;
  for (int64_t i = 0; i < 6; ++i)
    by_whole.push_back(
        whole.adapter->step(all.narrow(0, i * kWindow, kWindow)).by_source);
  for (int64_t i = 0; i < 6; ++i) {
    int64_t count = 0;
    for (int64_t k = 0; k < kWindow; ++k)
      count +=
          single.adapter->step(all.narrow(0, i * kWindow + k, 1)).by_source;
    by_single.push_back(count);
  }
  EXPECT_EQ(by_whole, by_single);
  EXPECT_EQ(by_whole.back(), kWindow);
}

// Files hold fewer kinds of numbers.
TEST(Floor, AStateGoesIntoAFileAndBack) {
  const testing::TempDir folder;
  Stream stream, resumed;
  stream.method->says = collapsed;
  stream.until_source_answers();
  write_snapshot(folder / "state", stream.adapter->snapshot());
  resumed.adapter->restore(read_snapshot(folder / "state"));
  EXPECT_TRUE(resumed.adapter->source_answers());
  EXPECT_EQ(resumed.window().by_source, kWindow);
}

// At every place of a stream that trips, gets ahead and trips again.
TEST(Floor, ASnapshotContinuesBitForBit) {
  const at::Tensor all = images(kWindow / 2);
  const auto says = [](int i) { return i / 12 % 2 == 0 ? collapsed : right; };
  const auto part = [&](Stream& stream, int i) {
    stream.method->says = says(i);
    return stream.adapter->step(all);
  };
  constexpr int kParts = 40;
  for (int cut = 1; cut < kParts; cut += 3) {
    Stream straight, resumed;
    for (int i = 0; i < cut; ++i)
      part(straight, i);
    resumed.adapter->restore(straight.adapter->snapshot());
    for (int i = cut; i < kParts; ++i) {
      const StepResult wanted = part(straight, i), got = part(resumed, i);
      EXPECT_EQ(wanted.by_source, got.by_source) << cut << ' ' << i;
      EXPECT_EQ(wanted.guard, got.guard) << cut << ' ' << i;
      EXPECT_TRUE(wanted.logits.equal(got.logits)) << cut << ' ' << i;
    }
    EXPECT_EQ(straight.value(), resumed.value());
  }
}

TEST(Floor, ResetHasTheAdaptedNetworkAnswer) {
  Stream stream;
  stream.method->says = collapsed;
  stream.until_source_answers();
  stream.adapter->reset();
  EXPECT_FALSE(stream.adapter->source_answers());
  EXPECT_EQ(stream.window().by_source, 0);
}

TEST(Floor, ARehearsalIsTheMethodsOwnAndLeavesTheFloorAlone) {
  Stream stream;
  stream.method->says = collapsed;
  stream.until_source_answers();
  const Snapshot before = stream.adapter->snapshot();
  EXPECT_EQ(stream.adapter->rehearse(images(kWindow)).by_source, 0);
  stream.adapter->take_back(before);
  EXPECT_EQ(stream.window().by_source, kWindow);
}

TEST(Floor, AStateThatDoesNotFitIsRefused) {
  Stream stream;
  stream.window();
  const Snapshot good = stream.adapter->snapshot();
  const auto refused = [&](const std::string& name, const at::Tensor& value) {
    Snapshot bad = good;
    bad.tensors.erase("adapter.guard.floor." + name);
    if (value.defined()) bad.tensors["adapter.guard.floor." + name] = value;
    EXPECT_THROW(stream.adapter->restore(bad), Error) << name;
  };
  refused("state", at::zeros({4}, at::kLong));
  refused("state", at::zeros({5}));
  refused("state", at::full({5}, 2, at::kLong));
  refused("state", at::full({5}, -1, at::kLong));
  refused("adapted", {});
  refused("other", at::zeros({1}));
  stream.adapter->restore(good);
}

// A learning rate that ruins the network.
TEST(Floor, WorksInLanes) {
  GuardOptions guard = looking_always();
  guard.action = "floor";
  const testing::LaneRuns runs(
      "tent",
      engine::make_cuda(make_classifier(
          testing::Golden("methods/network").file(), {}, "network")),
      {{"learning_rate", 100.0}}, guard);
  runs.expect_the_same(1e-3);
  EXPECT_EQ(runs.alone(2).by_source.back(), testing::LaneRuns::kWindow);
}

TEST(Floor, OptionsWithoutEffectAreRefused) {
  const auto refused = [](const std::string& action, auto change,
                          const std::string& name) {
    GuardOptions options;
    options.action = action;
    change(options);
    testing::expect_error(ErrorKind::kInvalid, name,
                          [&] { validate(options); });
  };
  refused(
      "floor", [](auto& o) { o.max_class_share = 0.5; },
      "guard_max_class_share: has no effect with guard = floor");
  refused(
      "floor", [](auto& o) { o.max_parameter_change = 2; },
      "guard_max_parameter_change");
  refused(
      "rollback", [](auto& o) { o.look_every = 4; }, "guard_look_every");
  refused(
      "skip", [](auto& o) { o.margin = 0.1; }, "guard_margin");
  refused(
      "floor", [](auto& o) { o.margin = 0; }, "guard_margin");
  refused(
      "floor", [](auto& o) { o.look_every = 0; }, "guard_look_every");
}

}  // namespace
}  // namespace sotta
