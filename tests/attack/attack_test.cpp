#include "sotta/attack/attack.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

#include "tests/attack/attacked_window.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_counts.h"

namespace sotta {
namespace {

using testing::attack_by;
using testing::attacked_adapter;
using testing::attacked_window;
using testing::differences;

at::Tensor as_floats(const at::Tensor& images) {
  return images.to(at::kFloat).div(255);
}

const std::set<std::string> kRunning = {"source", "lame", "rotta", "sotta"};

using MethodAndMode = std::tuple<std::string, std::string>;
class EveryAttack : public ::testing::TestWithParam<MethodAndMode> {
 protected:
  std::string method() const { return std::get<0>(GetParam()); }
  std::string mode() const { return std::get<1>(GetParam()); }

  // Whether the gradient has a way from the targets to the malicious samples.
  bool reaches() const {
    if (mode() == "surrogate" || !kRunning.count(method())) return true;
    return mode() == "adaptive" && method() != "source" && method() != "lame";
  }
};

TEST_P(EveryAttack, StaysWithinItsBounds) {
  const auto adapter = attacked_adapter(method());
  const AttackWindow window = attacked_window();
  AttackOptions options = attack_by(mode());
  options.eps = 0.01;  // reached within the steps

  const AttackResult result = craft(*adapter, window, options);

  const at::Tensor perturbation = result.perturbation;
  EXPECT_EQ(perturbation.sizes(), window.images.sizes());
  EXPECT_LE(perturbation.abs().max().item<float>(), 0.01f);
  EXPECT_FALSE(
      perturbation.index({window.malicious.logical_not()}).any().item<bool>());
  if (!reaches()) return;
  EXPECT_GE(result.images.min().item<float>(), 0);
  EXPECT_LE(result.images.max().item<float>(), 1);
  EXPECT_TRUE(result.images.equal(
      (as_floats(window.images) + perturbation).clamp(0, 1)));
}

TEST_P(EveryAttack, RaisesTheLossExactlyWhereTheGradientReaches) {
  const auto adapter = attacked_adapter(method());
  const AttackWindow window = attacked_window();

  const AttackResult result = craft(*adapter, window, attack_by(mode()));

  EXPECT_EQ(result.zero_gradient, !reaches());
  EXPECT_EQ(result.perturbation.any().item<bool>(), reaches());
  if (!reaches()) {
    EXPECT_TRUE(result.images.is_same(window.images));
    EXPECT_FALSE(result.losses.defined());
    EXPECT_EQ(result.trial_updates, 0);
    return;
  }
  ASSERT_EQ(result.losses.numel(), 4);
  for (int64_t i = 1; i < 4; ++i)
    EXPECT_GT(result.losses[i].item<double>(),
              result.losses[i - 1].item<double>())
        << i;
  EXPECT_EQ(result.trial_updates,
            mode() == "surrogate" || method() == "bn_stats" ? 0
            : method() == "source" || method() == "lame"    ? 0
                                                            : 4);
}

TEST_P(EveryAttack, LeavesTheAdapterAsItWas) {
  const auto adapter = attacked_adapter(method());
  const Snapshot before = adapter->snapshot();
  craft(*adapter, attacked_window(), attack_by(mode()));
  EXPECT_EQ(differences(before, adapter->snapshot()),
            std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    Methods, EveryAttack,
    ::testing::Combine(::testing::ValuesIn(method_names()),
                       ::testing::ValuesIn(attack_modes())),
    [](const auto& test) {
      return std::get<0>(test.param) + "_" + std::get<1>(test.param);
    });

TEST(Attack, SameBitsAtAnyThreadCount) {
  AttackOptions options = attack_by("adaptive");
  options.steps = 2;
  for (const char* method : {"tent", "sotta"})
    testing::expect_same_bits_at_any_thread_count([&] {
      const auto adapter = attacked_adapter(method);
      return craft(*adapter, attacked_window(), options).images;
    });
}

TEST(Attack, BytesAndFloatsAreAttackedAlike) {
  const auto adapter = attacked_adapter("tent");
  AttackWindow window = attacked_window();
  const auto by_bytes = craft(*adapter, window, attack_by("paper"));
  window.images = as_floats(window.images);
  const auto by_floats = craft(*adapter, window, attack_by("paper"));
  EXPECT_TRUE(by_bytes.images.equal(by_floats.images));
}

TEST(Attack, DoesNothingWithoutMaliciousSamplesOrWithoutTargets) {
  const auto adapter = attacked_adapter("tent");
  AttackWindow peaceful = attacked_window();
  peaceful.malicious.zero_();
  AttackWindow aimless = attacked_window();
  aimless.labels.fill_(-1);
  for (const AttackWindow& window : {peaceful, aimless}) {
    const AttackResult result = craft(*adapter, window, attack_by("paper"));
    EXPECT_TRUE(result.images.is_same(window.images));
    EXPECT_FALSE(result.perturbation.any().item<bool>());
    EXPECT_EQ(result.trial_updates, 0);
  }
}

TEST(Attack, DoesNotLookAtTheLabelsOfMaliciousSamples) {
  const auto adapter = attacked_adapter("tent");
  AttackWindow window = attacked_window();
  const auto expected = craft(*adapter, window, attack_by("paper"));
  window.labels.masked_fill_(window.malicious, 3);
  const auto found = craft(*adapter, window, attack_by("paper"));
  EXPECT_TRUE(found.images.equal(expected.images));
}

TEST(Attack, TakesTheTracesOfThePublishedCodeAsPaperPresetOnly) {
  EXPECT_FALSE(AttackOptions::preset(Preset::kClean, 10).keep_traces);
  const auto cifar = AttackOptions::preset(Preset::kPaper, 100);
  EXPECT_TRUE(cifar.keep_traces);
  EXPECT_EQ(cifar.eps, 0.1);
  EXPECT_EQ(cifar.steps, 10);
  const auto imagenet = AttackOptions::preset(Preset::kPaper, 1000);
  EXPECT_EQ(imagenet.eps, 0.2);
  EXPECT_EQ(imagenet.steps, 1);
}

// Before the first candidate the published code adapts once to the window as it
// came; and it tries candidates even where none differs from another.
TEST(Attack, TriesOneUpdateMoreForTheTraces) {
  for (const char* method : {"tent", "sotta"}) {
    const auto adapter = attacked_adapter(method);
    AttackOptions options = attack_by("paper");
    options.keep_traces = true;
    EXPECT_EQ(craft(*adapter, attacked_window(), options).trial_updates, 5)
        << method;
    AttackWindow peaceful = attacked_window();
    peaceful.malicious.zero_();
    EXPECT_EQ(craft(*adapter, peaceful, options).trial_updates, 1) << method;
  }
}

TEST(Attack, RefusesWindowsThatDoNotFit) {
  const auto adapter = attacked_adapter("tent");
  const Snapshot before = adapter->snapshot();
  const auto refuses = [&](auto spoil) {
    AttackWindow window = attacked_window();
    spoil(window);
    EXPECT_THROW(craft(*adapter, window, attack_by("paper")), Error);
  };
  refuses([](AttackWindow& w) { w.images = at::Tensor(); });
  refuses([](AttackWindow& w) { w.images = w.images.slice(1, 0, 2); });
  refuses([](AttackWindow& w) { w.images = w.images.to(at::kInt); });
  refuses([](AttackWindow& w) { w.images = w.images.to(at::kFloat); });
  refuses([](AttackWindow& w) { w.malicious = at::Tensor(); });
  refuses([](AttackWindow& w) { w.malicious = w.malicious.to(at::kLong); });
  refuses([](AttackWindow& w) { w.malicious = w.malicious.slice(0, 1); });
  refuses([](AttackWindow& w) { w.labels = w.labels.to(at::kInt); });
  refuses([](AttackWindow& w) { w.labels.fill_(5); });
  refuses([](AttackWindow& w) { w.labels[3] = 5; });
  refuses([](AttackWindow& w) { w.images = w.images.to(at::kInt).zero_(); });
  refuses([](AttackWindow& w) { w.images = w.images.slice(0, 0, 0); });
  AttackWindow last_class = attacked_window();
  last_class.labels.fill_(4);  // of five
  EXPECT_NO_THROW(craft(*adapter, last_class, attack_by("surrogate")));
  EXPECT_TRUE(differences(before, adapter->snapshot()).empty());
}

TEST(Attack, SaysWhatDoesNotFitAWindow) {
  const auto adapter = attacked_adapter("tent");
  const auto refuses = [&](const std::string& problem, auto spoil) {
    AttackWindow window = attacked_window();
    spoil(window);
    testing::expect_error(ErrorKind::kInvalid, "attack: expected " + problem,
                          [&] { craft(*adapter, window, attack_by("paper")); });
  };
  const int64_t count = attacked_window().images.size(0);
  const std::string all = "[" + std::to_string(count) + "]";
  const std::string shape = "images [N, 3, H, W], got ";
  using Window = AttackWindow;
  refuses(shape + "none", [](Window& w) { w.images = at::Tensor(); });
  refuses(shape + "[0, 3, 16, 16]",
          [](Window& w) { w.images = w.images.slice(0, 0, 0); });
  refuses(shape + "[" + std::to_string(count) + ", 2, 16, 16]",
          [](Window& w) { w.images = w.images.slice(1, 0, 2); });
  refuses(shape + "[3, 16, 16]", [](Window& w) { w.images = w.images[0]; });
  refuses("uint8 or float images, got Int",
          [](Window& w) { w.images = w.images.to(at::kInt); });
  for (const float wrong : {-0.1f, 1.1f, std::nanf("")})
    refuses("images within 0 .. 1, got others", [&](Window& w) {
      w.images = as_floats(w.images);
      w.images[1][1][1][1] = wrong;
    });
  refuses("malicious as Bool " + all + ", got none",
          [](Window& w) { w.malicious = at::Tensor(); });
  refuses("malicious as Bool " + all + ", got Long " + all,
          [](Window& w) { w.malicious = w.malicious.to(at::kLong); });
  refuses("malicious as Bool " + all + ", got Bool [" +
              std::to_string(count - 1) + "]",
          [](Window& w) { w.malicious = w.malicious.slice(0, 1); });
  refuses("malicious as Bool " + all + ", got Bool [" + std::to_string(count) +
              ", 1]",
          [](Window& w) { w.malicious = w.malicious.unsqueeze(1); });
  refuses("labels as Long " + all + ", got Int " + all,
          [](Window& w) { w.labels = w.labels.to(at::kInt); });
  refuses("labels below 5, got 7", [](Window& w) { w.labels[3] = 7; });
}

TEST(Attack, TakesImagesFromZeroToOneInclusive) {
  const auto adapter = attacked_adapter("tent");
  AttackWindow window = attacked_window();
  window.images = as_floats(window.images);
  window.images[0].fill_(0);
  window.images[1].fill_(1);
  EXPECT_NO_THROW(craft(*adapter, window, attack_by("surrogate")));
}

TEST(Attack, ARefusedOptionSaysWhatIsAllowed) {
  const auto refuses = [](const std::string& name, const OptionValue& value,
                          const std::string& problem) {
    AttackOptions options;
    assign_options(options, {{name, value}}, "attack");
    testing::expect_error(ErrorKind::kInvalid, name + ": " + problem,
                          [&] { validate(options); });
  };
  refuses("attack", std::string("papr"), "unknown name \"papr\", did you mean");
  refuses("attack_weights", std::string("none"),
          "unknown name \"none\", expected adapted, source");
  refuses("attack_eps", 1.5, "expected 0 to 1, got 1.5");
  refuses("attack_steps", int64_t{0}, "expected at least 1, got 0");
  for (const double size : {0.0, 1.001})
    refuses("attack_step_size", size,
            "expected above 0 and at most 1, got " + to_text(size));
  refuses("attack_step_size", std::nan(""),
          "expected above 0 and at most 1, got nan");
}

TEST(Attack, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    AttackOptions options;
    assign_options(options, {{name, value}}, "attack");
    EXPECT_THROW(validate(options), Error) << name;
  };
  refuses("attack", std::string("papr"));
  refuses("attack_weights", std::string("none"));
  refuses("attack_eps", -0.1);
  refuses("attack_eps", 1.5);
  refuses("attack_steps", int64_t{0});
  refuses("attack_step_size", 0.0);
  refuses("attack_step_size", 1.001);
  refuses("attack_eps", std::nan(""));
  EXPECT_NO_THROW(validate(AttackOptions()));
}

TEST(Attack, TakesTheEndsOfEveryRange) {
  const auto takes = [](const std::string& name, const OptionValue& value) {
    AttackOptions options;
    assign_options(options, {{name, value}}, "attack");
    EXPECT_NO_THROW(validate(options)) << name;
  };
  takes("attack_eps", 0.0);
  takes("attack_eps", 1.0);
  takes("attack_steps", int64_t{1});
  takes("attack_step_size", 1.0);
  for (const auto& mode : attack_modes())
    takes("attack", mode);
  takes("attack_weights", std::string("adapted"));
  takes("attack_weights", std::string("source"));
}

TEST(Attack, PublishedSettingsAreTheDefaults) {
  const AttackOptions options;
  EXPECT_EQ(options.mode, "paper");
  EXPECT_EQ(options.eps, 0.1);
  EXPECT_EQ(options.steps, 10);
  EXPECT_EQ(options.step_size, 1.0 / 255);
  EXPECT_EQ(options.weights, "adapted");
  const auto imagenet = AttackOptions::preset(Preset::kClean, 1000);
  EXPECT_EQ(imagenet.eps, 0.2);
  EXPECT_EQ(imagenet.steps, 1);
  EXPECT_EQ(imagenet.step_size, 1.0 / 255);
}

}  // namespace
}  // namespace sotta
