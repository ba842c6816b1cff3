#include "adapt/methods/pseudo_label.h"

#include <cmath>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

class PseudoLabelGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(PseudoLabelGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const auto make = [&] {
    return make_adapter("pseudo_label", trace.context(), Preset::kClean,
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

INSTANTIATE_TEST_SUITE_P(Traces, PseudoLabelGolden,
                         ::testing::Values("pseudo_label_clean",
                                           "pseudo_label_paper"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

// Probabilities of the likelier class: 3/4, 9/10, 3/4 (the second class). The
// gradient of -log p by its logit is p - 1, by the other 1 - p. By the shifts,
// so: (-1/4 - 1/10 + 1/4) / 3 = -1/30. By the first scale, whose pixels are
// ln(3)/4, ln(9)/4 and 0: -(ln(3)/16 + ln(9)/40) / 3. Adam's first step is the
// learning rate against each sign.
TEST(PseudoLabel, StepComputedByHand) {
  MethodContext context;
  context.model =
      std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
  context.update_interval = 3;
  Adapter adapter("pseudo_label", make_pseudo_label(context, {}), context);
  at::Tensor images = testing::two_class_images({std::log(3), std::log(9), 0});
  images[2][1] = std::log(3) / testing::kLinearScale;

  const UpdateReport report = adapter.step(images).updates[0];

  EXPECT_NEAR(number(report.loss),
              (2 * std::log(4.0 / 3) + std::log(10.0 / 9)) / 3, 1e-6);
  const double scale0 = -(std::log(3) / 16 + std::log(9) / 40) / 3;
  const double scale1 = (-std::log(3) / 16) / 3;
  EXPECT_NEAR(number(report.gradient_norm),
              std::hypot(std::hypot(scale0, scale1), std::sqrt(2.0) / 30),
              1e-6);
  const at::Tensor expected = at::tensor({4.001, 4.001, 0.001, -0.001});
  EXPECT_TRUE(
      testing::close(adapter.state().affine, expected.to(at::kFloat), 1e-6));
}

// Adam's first step is the learning rate against the sign of the gradient with
// its share of the parameters.
TEST(PseudoLabel, RateAndDecayAreWhatTheyAreTold) {
  MethodContext context;
  context.model =
      std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
  context.update_interval = 1;
  PseudoLabelOptions options;
  options.learning_rate = 0.004;
  options.weight_decay = 10;  // 4 times that outweighs a gradient below 1
  Adapter adapter("pseudo_label", make_pseudo_label(context, options), context);
  adapter.step(testing::two_class_images({std::log(3)}));
  const at::Tensor expected = at::tensor({3.996, 3.996, 0.004, -0.004});
  EXPECT_TRUE(
      testing::close(adapter.state().affine, expected.to(at::kFloat), 1e-6));
}

TEST(PseudoLabel, PresetsDifferInWeightDecayOnly) {
  for (const int64_t classes : {10, 100, 1000}) {
    const auto clean = PseudoLabelOptions::preset(Preset::kClean, classes);
    const auto paper = PseudoLabelOptions::preset(Preset::kPaper, classes);
    EXPECT_EQ(clean.learning_rate, 1e-3);
    EXPECT_EQ(paper.learning_rate, 1e-3);
    EXPECT_EQ(clean.weight_decay, 0);
    EXPECT_EQ(paper.weight_decay, classes == 1000 ? 0 : 5e-4);
  }
}

TEST(PseudoLabel, RefusesOptionsOutOfRange) {
  const Trace trace("pseudo_label_clean");
  for (const auto& [name, value] :
       {std::make_pair("learning_rate", 0.0),
        std::make_pair("learning_rate", std::nan("")),
        std::make_pair("weight_decay", -1.0)})
    EXPECT_THROW(make_adapter("pseudo_label", trace.context(), Preset::kClean,
                              {{name, value}}),
                 Error)
        << name;
}

}  // namespace
}  // namespace sotta
