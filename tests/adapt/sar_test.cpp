#include "adapt/methods/sar.h"

#include <cmath>
#include <cstring>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

// The moving loss, as a snapshot keeps it; NaN before there is one.
double moving_loss(const Adapter& adapter) {
  const auto bits = adapter.snapshot().tensors.at("ema").item<int64_t>();
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

class SarGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(SarGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const auto make = [&] {
    return make_adapter("sar", trace.context(), Preset::kClean,
                        trace.options());
  };
  auto adapter = make();
  for (int64_t window = 0; window < 10; ++window) {
    const StepResult result = adapter->step(trace.window(window));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make);
    testing::expect_window(trace, window, *adapter, result);

    const UpdateReport& update = result.updates[0];
    const bool reset = trace.at("reset", window).item<uint8_t>() != 0;
    EXPECT_EQ(update.applied, !reset) << "window " << window;
    if (reset) {
      EXPECT_TRUE(
          adapter->state().affine.equal(adapter->model().source().affine))
          << "window " << window;
    }
    EXPECT_EQ(update.loss.defined(),
              trace.at("reliable", window).any().item<bool>());
    EXPECT_EQ(update.perturbed_loss.defined(),
              trace.at("admitted", window).any().item<bool>());
    const auto expected = trace.at("ema", window).item<double>();
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(moving_loss(*adapter))) << "window " << window;
    else
      EXPECT_NEAR(moving_loss(*adapter), expected, 1e-5) << "window " << window;
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, SarGolden,
                         ::testing::Values("sar_clean", "sar_paper",
                                           "sar_reset", "sar_strict"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

class SarByHand : public ::testing::Test {
 protected:
  SarByHand() {
    context_.model =
        std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
    context_.update_interval = 3;
    options_.entropy_margin = 0.6;
    options_.reset_threshold = 0;
    options_.frozen = "";
    options_.learning_rate = 0.5;
  }

  Adapter make() const {
    return {"sar", make_sar(context_, options_), context_};
  }

  // One reliable sample (entropy 0.5623) and two unreliable ones.
  at::Tensor images_ = testing::two_class_images({std::log(3), 0, 0.1});
  at::Tensor unreliable_ = testing::two_class_images({0, 0, 0.1});
  MethodContext context_;
  SarOptions options_;
};

// The gradient by (scale, scale, shift, shift) is g (x, 0, 1, -1) with the
// sample's pixel x = ln(3)/4 and g < 0, so its norm is |g| s with s^2 = 2 +
// x^2. The sharpest point at distance rho lowers the difference of the logits,
// ln 3, by rho s.
TEST_F(SarByHand, StepsWithTheGradientOfTheSharpestPoint) {
  Adapter adapter = make();

  const StepResult result = adapter.step(images_);

  const double pixel = std::log(3) / 4;
  const double length = std::sqrt(2 + pixel * pixel);
  const double difference = std::log(3) - 0.05 * length;
  const double p = 1 / (1 + std::exp(-difference));
  const double gradient = -difference * p * (1 - p);
  const UpdateReport& report = result.updates[0];
  EXPECT_NEAR(number(report.loss), 0.5623351, 1e-5);
  EXPECT_NEAR(number(report.gradient_norm), 3.0 / 16 * std::log(3) * length,
              1e-5);
  EXPECT_NEAR(number(report.perturbation_norm), 0.05, 1e-6);
  EXPECT_NEAR(number(report.perturbed_loss),
              -p * std::log(p) - (1 - p) * std::log(1 - p), 1e-5);
  const at::Tensor expected = at::tensor(
      {4 - 0.5 * gradient * pixel, 4.0, -0.5 * gradient, 0.5 * gradient});
  EXPECT_TRUE(
      testing::close(adapter.state().affine, expected.to(at::kFloat), 1e-5));
  EXPECT_EQ(result.verdicts,
            (std::vector<Verdict>{Verdict::kAdmitted, Verdict::kUnreliable,
                                  Verdict::kUnreliable}));
}

TEST_F(SarByHand, NothingReliableAtFirstChangesNothing) {
  Adapter adapter = make();
  const StepResult result = adapter.step(unreliable_);
  EXPECT_TRUE(adapter.state().affine.equal(adapter.model().source().affine));
  EXPECT_EQ(number(result.updates[0].gradient_norm), 0);
  EXPECT_FALSE(result.updates[0].loss.defined());
  EXPECT_TRUE(std::isnan(moving_loss(adapter)));
}

TEST_F(SarByHand, NothingReliableLaterStillFollowsTheMomentum) {
  Adapter adapter = make();
  const double first =
      number(adapter.step(images_).updates[0].parameter_change);
  const double moving = moving_loss(adapter);
  const StepResult result = adapter.step(unreliable_);
  EXPECT_NEAR(number(result.updates[0].parameter_change), 0.9 * first, 1e-5);
  EXPECT_EQ(moving_loss(adapter), moving);
}

TEST_F(SarByHand, RadiusAndMomentaAreWhatTheyAreTold) {
  options_.entropy_margin = 0.65;  // reliable at the sharpest point too
  options_.sharpness_radius = 0.2;
  options_.momentum = 0.4;
  options_.ema_momentum = 0.3;
  Adapter adapter = make();
  const StepResult first = adapter.step(images_);
  EXPECT_NEAR(number(first.updates[0].perturbation_norm), 0.2, 1e-6);
  const double one = number(first.updates[0].perturbed_loss);
  EXPECT_NEAR(moving_loss(adapter), one, 1e-6);
  const double change = number(first.updates[0].parameter_change);

  EXPECT_NEAR(number(adapter.step(unreliable_).updates[0].parameter_change),
              0.4 * change, 1e-5);
  const double two = number(adapter.step(images_).updates[0].perturbed_loss);
  EXPECT_GT(std::abs(one - two), 1e-3);
  EXPECT_NEAR(moving_loss(adapter), 0.3 * one + 0.7 * two, 1e-6);
}

// A moving loss that is the threshold is not below it.
TEST_F(SarByHand, ResetsBelowTheThresholdNotAtIt) {
  Adapter plain = make();
  plain.step(images_);
  const double loss = moving_loss(plain);
  for (const bool below : {false, true}) {
    options_.reset_threshold = below ? std::nextafter(loss, 1) : loss;
    Adapter adapter = make();
    EXPECT_EQ(adapter.step(images_).updates[0].applied, !below);
  }
}

TEST_F(SarByHand, ALowLossReturnsToTheSourceAndIsKept) {
  options_.reset_threshold = 0.65;
  Adapter adapter = make();
  const StepResult result = adapter.step(images_);
  EXPECT_TRUE(adapter.state().affine.equal(adapter.model().source().affine));
  EXPECT_FALSE(result.updates[0].applied);
  EXPECT_EQ(result.updates[0].skipped,
            "the moving loss is below the threshold: back to the source");
  EXPECT_GT(moving_loss(adapter), 0.5);
  // The momentum is kept too.
  EXPECT_GT(
      adapter.snapshot().tensors.at("optimiser.momentum").norm().item<double>(),
      0.1);
}

TEST(Sar, FrozenStageKeepsItsBits) {
  const Trace trace("sar_clean");
  const auto adapter = make_adapter("sar", trace.context(), Preset::kClean,
                                    {{"reset_threshold", 0.0}});
  for (int64_t i = 0; i < 5; ++i)
    adapter->step(trace.window(i));
  const auto& model = adapter->model();
  const ModelState state = adapter->state();
  for (const auto& layer : model.norm_layers()) {
    const auto affine = [&](const ModelState& some) {
      return some.affine.narrow(0, 2 * layer.offset, 2 * layer.channels);
    };
    EXPECT_EQ(affine(state).equal(affine(model.source())),
              layer.name.rfind("layer4", 0) == 0)
        << layer.name;
  }
}

TEST(Sar, MeasuresTheLossAfterTheStepIfAsked) {
  const Trace trace("sar_clean");
  MethodContext context = trace.context();
  context.measure_loss_after = true;
  const auto adapter = make_adapter("sar", context);
  const auto report = adapter->step(trace.window(0)).updates[0];
  EXPECT_LT(number(report.loss_after), number(report.loss));
}

TEST(Sar, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(make_adapter("sar", Trace("sar_clean").context(),
                              Preset::kClean, {{name, value}}),
                 Error)
        << name;
  };
  refuses("entropy_margin", 0.0);
  refuses("sharpness_radius", 0.0);
  refuses("reset_threshold", -0.1);
  refuses("ema_momentum", 1.1);
  refuses("frozen", std::string("layer9"));
  refuses("learning_rate", std::nan(""));
  refuses("momentum", 1.0);
}

}  // namespace
}  // namespace sotta
