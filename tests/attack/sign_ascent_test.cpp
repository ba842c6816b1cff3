#include "attack/sign_ascent.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/attack/attacked_window.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::attack_by;
using testing::attacked_adapter;
using testing::attacked_window;

class AttackGolden : public ::testing::TestWithParam<const char*> {};

// Three attacked windows one after another. The reference goes in float64; a
// gradient that is almost zero may have the other sign here.
TEST_P(AttackGolden, EqualsPyTorch) {
  const testing::Golden golden(std::string("attack/") + GetParam());
  const auto settings = nlohmann::json::parse(golden.metadata("attack"));
  AttackOptions options;
  options.eps = settings.at("attack_eps").get<double>();
  options.steps = settings.at("attack_steps").get<int64_t>();
  options.step_size = settings.at("attack_step_size").get<double>();
  options.keep_traces = settings.at("attack_traces").get<bool>();
  const auto adapter =
      attacked_adapter(golden.metadata("method"), /*windows=*/0);

  for (int64_t i = 0; i < 3; ++i) {
    const AttackWindow window = attacked_window(i);
    const AttackResult result = craft(*adapter, window, options);
    const at::Tensor found = result.perturbation.index({window.malicious});
    const at::Tensor same =
        found.sub(golden["perturbation"][i]).abs().lt(1e-6).to(at::kFloat);
    EXPECT_GT(same.mean().item<double>(), 0.97) << "window " << i;
    EXPECT_TRUE(testing::close(result.losses, golden["losses"][i], 0, 1e-3))
        << "window " << i;
    EXPECT_TRUE(testing::close(adapter->step(result.images).logits,
                               golden["logits"][i], 5e-2, 1e-3))
        << "window " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, AttackGolden,
                         ::testing::Values("bn_stats", "tent", "tent_traces"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

TEST(SignAscent, StepsWhereADifferenceQuotientPoints) {
  const auto adapter = attacked_adapter("bn_stats");
  AttackWindow window = attacked_window();
  window.images = window.images.to(at::kFloat).div(255).clamp(0.1, 0.9);
  AttackOptions options = attack_by("paper");
  options.steps = 1;
  const at::Tensor step = craft(*adapter, window, options).perturbation;

  const auto loss_with = [&](int64_t place, double change) {
    AttackWindow moved = window;
    moved.images = window.images.clone();
    moved.images.view(-1)[place] += change;
    return craft(*adapter, moved, options).losses[0].item<double>();
  };
  int64_t compared = 0;
  for (int64_t place = 0; place < 3 * 16 * 16; place += 37) {
    const double slope = loss_with(place, 0.02) - loss_with(place, -0.02);
    if (std::abs(slope) < 2e-5) continue;  // lost in rounding
    ++compared;
    EXPECT_NEAR(step.view(-1)[place].item<double>(),
                slope > 0 ? 1.0 / 255 : -1.0 / 255, 1e-7)
        << place;
  }
  EXPECT_GT(compared, 5);
}

// A network whose norm layer subtracts the mean and no more: logits are
// 4 (pixel - a * mean), a = 1 with batch statistics, the share with blended
// ones and 0 with running ones.
class CentringClassifier : public testing::LinearClassifier {
 public:
  CentringClassifier() : LinearClassifier(2, testing::kLinearScale) {}

  ForwardResult forward(const at::Tensor& images, const ModelState& state,
                        NormStats stats) const override {
    const at::Tensor centre = images.mean(0, /*keepdim=*/true);
    return LinearClassifier::forward(images - centre * stats.batch_share, state,
                                     stats);
  }
};

// One target of class 0 with logits z = 4 (x - mean): dL/dz = (p0 - 1, p1), and
// a malicious pixel enters the mean with 1/3. So raising the malicious pixel of
// class 0 raises the loss, raising that of class 1 lowers it.
TEST(SignAscent, OneStepByHand) {
  MethodContext context;
  context.model = std::make_shared<CentringClassifier>();
  context.update_interval = 3;
  const auto adapter = make_adapter("bn_stats", context);
  AttackWindow window;
  window.images = at::full({3, 2, 1, 1}, 0.5);
  window.malicious = at::tensor({1, 0, 1}).to(at::kBool);
  window.labels = at::tensor({-1, 0, -1}, at::kLong);
  AttackOptions options;
  options.steps = 3;
  options.step_size = 0.04;

  const AttackResult result = craft(*adapter, window, options);

  // The third step is cut at eps; benign rows stay.
  const at::Tensor expected = at::tensor({0.6, 0.4, 0.5, 0.5, 0.6, 0.4});
  EXPECT_TRUE(testing::close(result.images.flatten(), expected.to(at::kFloat)));
  // The mean moves by 2/3 of the step, so z0 - z1 is -2 * 4 * 2/3 * change.
  const auto loss_at = [](double change) {
    return std::log(1 + std::exp(16.0 / 3 * change));
  };
  const at::Tensor losses =
      at::tensor({loss_at(0), loss_at(0.04), loss_at(0.08)}).to(at::kFloat);
  EXPECT_TRUE(testing::close(result.losses, losses));
}

// What craft() decides by looking at the method, the gradient says too.
TEST(SignAscent, GradientIsExactlyZeroWhereItIsSaidToBe) {
  for (const char* mode : {"paper", "adaptive"})
    for (const char* method : {"source", "lame", "rotta", "sotta"}) {
      const auto adapter = attacked_adapter(method);
      const auto said = craft(*adapter, attacked_window(), attack_by(mode));
      if (!said.zero_gradient) continue;
      TrialUpdates trials(*adapter, /*keep_traces=*/false);

      const AttackResult result =
          ascend(*adapter, trials, attacked_window(), attack_by(mode));

      EXPECT_FALSE(result.perturbation.any().item<bool>()) << method;
      EXPECT_TRUE(result.perturbation.equal(said.perturbation)) << method;
      EXPECT_TRUE(result.losses.eq(result.losses[0]).all().item<bool>());
    }
}

TEST(SignAscent, SurrogateTakesTheAdaptedWeightsOrTheSource) {
  const auto adapter = attacked_adapter("tent", /*windows=*/3);
  TrialUpdates trials(*adapter, /*keep_traces=*/false);
  const at::Tensor images = attacked_window().images;
  AttackOptions options = attack_by("surrogate");

  const Victim adapted = find_victim(*adapter, trials, images, options);
  options.weights = "source";
  const Victim source = find_victim(*adapter, trials, images, options);

  EXPECT_TRUE(adapted.state.affine.equal(adapter->state().affine));
  EXPECT_TRUE(source.state.affine.equal(adapter->model().source().affine));
  EXPECT_FALSE(adapted.state.affine.equal(source.state.affine));
  EXPECT_EQ(adapted.stats.source, NormStats::Source::kBatch);
  EXPECT_EQ(trials.count(), 0);
}

TEST(SignAscent, PaperLooksAtTheTrainedNetworkAndAdaptiveAtTheOneThatPredicts) {
  const auto adapter = attacked_adapter("cotta");
  const at::Tensor images = attacked_window().images;
  TrialUpdates trials(*adapter, /*keep_traces=*/false);
  const auto paper = find_victim(*adapter, trials, images, attack_by("paper"));
  const auto adaptive =
      find_victim(*adapter, trials, images, attack_by("adaptive"));
  adapter->step(images);
  EXPECT_TRUE(
      paper.state.affine.equal(adapter->method().trained_state().affine));
  EXPECT_TRUE(adaptive.state.affine.equal(adapter->state().affine));
}

// SoTTA mixes a fifth in twice; the window is mixed in during the pass, so the
// statistics it starts from are those before the update.
TEST(SignAscent, AdaptiveMixesTheWindowIntoTheRunningStatistics) {
  const auto adapter = attacked_adapter("sotta");
  const ModelState before = adapter->state().clone_norm();
  TrialUpdates trials(*adapter, /*keep_traces=*/false);
  const Victim victim = find_victim(*adapter, trials, attacked_window().images,
                                    attack_by("adaptive"));
  EXPECT_EQ(victim.stats.source, NormStats::Source::kBlended);
  EXPECT_NEAR(victim.stats.batch_share, 0.36, 1e-12);
  EXPECT_TRUE(victim.state.running_mean.equal(before.running_mean));
  EXPECT_TRUE(victim.state.running_var.equal(before.running_var));

  // All else is what a step would leave, which moves both statistics.
  adapter->step(attacked_window().images);
  EXPECT_TRUE(victim.state.affine.equal(adapter->state().affine));
  EXPECT_FALSE(victim.state.affine.equal(before.affine));
  EXPECT_FALSE(before.running_mean.equal(adapter->state().running_mean));
  EXPECT_FALSE(before.running_var.equal(adapter->state().running_var));
}

TEST(SignAscent, AdaptiveLeavesBatchStatisticsAsTheyAre) {
  const auto adapter = attacked_adapter("tent");
  TrialUpdates trials(*adapter, /*keep_traces=*/false);
  const Victim victim = find_victim(*adapter, trials, attacked_window().images,
                                    attack_by("adaptive"));
  EXPECT_EQ(victim.stats.source, NormStats::Source::kBatch);
  adapter->step(attacked_window().images);
  EXPECT_TRUE(victim.state.affine.equal(adapter->state().affine));
}

TEST(SignAscent, SidesAreTheMaliciousRowsAndTheLabelledOthers) {
  AttackWindow window;
  window.malicious = at::tensor({0, 1, 0, 1, 0}).to(at::kBool);
  window.labels = at::tensor({0, 3, -1, -1, 2}, at::kLong);
  const Sides sides = find_sides(window, at::kCPU);
  EXPECT_TRUE(sides.malicious.equal(at::tensor({1, 3}, at::kLong)));
  EXPECT_TRUE(sides.targets.equal(at::tensor({0, 4}, at::kLong)));
  EXPECT_TRUE(sides.labels.equal(at::tensor({0, 2}, at::kLong)));
  EXPECT_FALSE(sides.empty());
}

}  // namespace
}  // namespace sotta
