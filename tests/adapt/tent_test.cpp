#include "adapt/methods/tent.h"

#include <cmath>

#include "sotta/core/error.h"
#include "sotta/nn/gradient.h"

#include "tests/adapt/trace.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

class TentGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(TentGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const auto make = [&] {
    return make_adapter("tent", trace.context(), Preset::kClean,
                        trace.options());
  };
  auto adapter = make();
  for (int64_t window = 0; window < 10; ++window) {
    testing::expect_window(trace, window, *adapter,
                           adapter->step(trace.window(window)));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make);
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, TentGolden,
                         ::testing::Values("tent_clean", "tent_paper"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

// With logits (d, 0) and p = sigmoid(d), the entropy's derivative by d is
// -d p (1 - p): -3/16 ln 3 at p = 3/4, 0 at p = 1/2, -9/100 ln 9 at p = 9/10.
TEST(Tent, StepComputedByHand) {
  MethodContext context;
  context.model =
      std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
  context.update_interval = 3;
  TentOptions options;
  options.optimiser = "sgd";
  options.learning_rate = 0.5;
  Adapter adapter("tent", make_tent(context, options), context);

  const UpdateReport report =
      adapter.step(testing::two_class_images({std::log(3), 0, std::log(9)}))
          .updates[0];

  EXPECT_NEAR(number(report.loss), (0.5623351 + 0.6931472 + 0.3250830) / 3,
              1e-5);
  const double first = -3.0 / 16 * std::log(3), last = -0.09 * std::log(9);
  const double by_shift = (first + last) / 3;
  const double by_scale =
      (first * std::log(3) / 4 + last * std::log(9) / 4) / 3;
  EXPECT_NEAR(number(report.gradient_norm),
              std::sqrt(by_scale * by_scale + 2 * by_shift * by_shift), 1e-5);
  const at::Tensor expected =
      at::tensor({4 - 0.5 * by_scale, 4.0, -0.5 * by_shift, 0.5 * by_shift});
  EXPECT_TRUE(
      testing::close(adapter.state().affine, expected.to(at::kFloat), 1e-5));
}

// SGD by its formulas: the buffer keeps `momentum` of itself and takes the
// gradient with `weight_decay` of the parameters.
TEST(Tent, TwoWindowsOfSgdByItsFormulas) {
  const Trace trace("tent_clean");
  const auto adapter = make_adapter("tent", trace.context(), Preset::kClean,
                                    {{"optimiser", std::string("sgd")},
                                     {"learning_rate", 0.02},
                                     {"momentum", 0.6},
                                     {"weight_decay", 0.03},
                                     {"entropy_per_class", true}});
  const auto& model = adapter->model();
  at::Tensor affine = model.source().affine.clone(), buffer;
  for (int64_t window = 0; window < 3; ++window) {
    ModelState state = model.source();
    state.affine = as_leaf(affine);
    const at::Tensor logits =
        model.forward(trace.window(window), state, NormStats::batch()).logits;
    const at::Tensor p = logits.softmax(1);
    const at::Tensor loss = -(p * (p + 1e-6).log()).sum(1).mean() / 5;
    const at::Tensor gradient = gradient_of(loss, state.affine) + 0.03 * affine;
    buffer = buffer.defined() ? 0.6 * buffer + gradient : gradient;
    affine = affine - 0.02 * buffer;

    const auto update = adapter->step(trace.window(window)).updates[0];
    EXPECT_NEAR(number(update.loss), loss.item<double>(), 1e-6) << window;
    EXPECT_TRUE(testing::close(adapter->state().affine, affine, 1e-5))
        << window;
  }
}

// Adam's first step is the learning rate.
TEST(Tent, TheRateOfAdamIsWhatItIsTold) {
  const Trace trace("tent_clean");
  const auto adapter = make_adapter("tent", trace.context(), Preset::kClean,
                                    {{"learning_rate", 0.004}});
  adapter->step(trace.window(0));
  EXPECT_NEAR((adapter->state().affine - adapter->model().source().affine)
                  .abs()
                  .max()
                  .item<double>(),
              0.004, 1e-5);
}

TEST(Tent, PredictsTheFirstWindowAsBnStats) {
  const Trace trace("tent_clean");
  const auto tent = make_adapter("tent", trace.context());
  const auto bn_stats = make_adapter("bn_stats", trace.context());
  EXPECT_TRUE(tent->step(trace.window(0))
                  .logits.equal(bn_stats->step(trace.window(0)).logits));
  EXPECT_FALSE(testing::close(tent->step(trace.window(1)).logits,
                              bn_stats->step(trace.window(1)).logits, 1e-4));
}

// A window in two halves is predicted by halves and adapted on as a whole, with
// a pass of its own instead of the prediction's.
TEST(Tent, AWindowInHalvesTeachesTheSame) {
  const Trace trace("tent_clean");
  const auto whole = make_adapter("tent", trace.context());
  const auto halves = make_adapter("tent", trace.context());
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor window = trace.window(i);
    whole->step(window);
    halves->step(window.slice(0, 0, 8));
    halves->step(window.slice(0, 8, 16));
    EXPECT_TRUE(whole->state().affine.equal(halves->state().affine)) << i;
  }
}

TEST(Tent, SamplesWaitForTheirWindowAndAreAdmittedThen) {
  const Trace trace("tent_clean");
  const auto adapter = make_adapter("tent", trace.context());
  EXPECT_EQ(adapter->step(trace.window(0).slice(0, 0, 12)).verdicts,
            std::vector<Verdict>(12, Verdict::kPending));
  EXPECT_EQ(adapter->step(trace.window(0).slice(0, 12, 16)).verdicts,
            std::vector<Verdict>(4, Verdict::kAdmitted));
}

TEST(Tent, RunningStatisticsStayThoseOfTheSource) {
  const Trace trace("tent_clean");
  const auto adapter = make_adapter("tent", trace.context());
  adapter->step(trace.window(0));
  const auto& source = adapter->model().source();
  EXPECT_TRUE(adapter->state().running_mean.equal(source.running_mean));
  EXPECT_TRUE(adapter->state().running_var.equal(source.running_var));
}

// With SGD, no momentum and the entropy divided by 1000, nothing to speak of
// happens. That is why the paper's
// ImageNet rows of TENT and BN Stats are the same.
TEST(Tent, PaperPresetForImageNetHardlyMoves) {
  const Trace trace("tent_clean");
  const auto paper = TentOptions::preset(Preset::kPaper, 1000);
  EXPECT_EQ(paper.optimiser, "sgd");
  EXPECT_EQ(paper.momentum, 0);
  auto options = paper;
  options.entropy_per_class = false;  // the network has 5 classes, not 1000
  options.learning_rate /= 1000;
  Adapter still("tent", make_tent(trace.context(), options), trace.context());
  Adapter moving(
      "tent",
      make_tent(trace.context(), TentOptions::preset(Preset::kClean, 1000)),
      trace.context());
  double by_paper = 0, by_clean = 0;
  for (int64_t i = 0; i < 10; ++i) {
    by_paper += number(still.step(trace.window(i)).updates[0].parameter_change);
    by_clean +=
        number(moving.step(trace.window(i)).updates[0].parameter_change);
  }
  EXPECT_LT(by_paper, 1e-4);
  EXPECT_GT(by_clean, 1000 * by_paper);
}

TEST(Tent, PresetsFollowTheNumberOfClasses) {
  const auto clean = TentOptions::preset(Preset::kClean, 1000);
  EXPECT_EQ(clean.optimiser, "sgd");
  EXPECT_EQ(clean.momentum, 0.9);
  EXPECT_EQ(clean.learning_rate, 2.5e-4);
  EXPECT_FALSE(clean.entropy_per_class);
  const auto cifar = TentOptions::preset(Preset::kPaper, 100);
  EXPECT_EQ(cifar.optimiser, "adam");
  EXPECT_EQ(cifar.learning_rate, 1e-3);
  EXPECT_EQ(cifar.weight_decay, 5e-4);
  EXPECT_TRUE(cifar.entropy_per_class);
}

TEST(Tent, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(make_adapter("tent", Trace("tent_clean").context(),
                              Preset::kClean, {{name, value}}),
                 Error)
        << name;
  };
  refuses("learning_rate", 0.0);
  refuses("optimiser", std::string("adamw"));
  refuses("momentum", 1.0);
  refuses("weight_decay", -1.0);
}

}  // namespace
}  // namespace sotta
