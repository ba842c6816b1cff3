#include "adapt/methods/sotta.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include "sotta/core/error.h"

#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

class SottaGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(SottaGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const bool cleared =
      trace.options().at("memory") == OptionValue(std::string("hus_cleared"));
  const auto make_one = [&] {
    return make_adapter("sotta", trace.context(), Preset::kClean,
                        trace.options());
  };
  auto adapter = make_one();
  for (int64_t window = 0; window < 10; ++window) {
    const StepResult result = adapter->step(trace.window(window));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter, make_one);
    testing::expect_window(trace, window, *adapter, result);
    if (cleared) continue;
    EXPECT_EQ(adapter->memory_samples(),
              testing::expected_samples(trace, window))
        << "window " << window;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Traces, SottaGolden,
    ::testing::Values("sotta_clean", "sotta_paper", "sotta_hc", "sotta_uc",
                      "sotta_hc_uc", "sotta_esm", "sotta_hc_esm",
                      "sotta_uc_esm", "sotta_cleared", "sotta_no_sharpness",
                      "sotta_no_sharpness_two_updates", "sotta_unfrozen",
                      "sotta_one_update", "sotta_strict"),
    [](const auto& test) { return std::string(test.param); });

MethodContext tiny_context() {
  MethodContext context;
  context.model = testing::golden_network();
  context.update_interval = 16;
  return context;
}

SottaOptions eager() {
  SottaOptions options;
  options.min_confidence = 0.3;
  options.memory_capacity = 16;
  return options;
}

std::unique_ptr<Adapter> make(const SottaOptions& options) {
  const MethodContext context = tiny_context();
  return std::make_unique<Adapter>("sotta", make_sotta(context, options),
                                   context);
}

TEST(Sotta, PredictsTheFirstWindowAsTheSourceModel) {
  const auto adapter = make(eager());
  const at::Tensor images = testing::golden_stream().slice(0, 0, 16);
  const auto& model = adapter->model();
  const at::Tensor expected =
      model.forward(images, model.source(), NormStats::running()).logits;
  EXPECT_TRUE(adapter->step(images).logits.equal(expected));
}

TEST(Sotta, PredictionsDoNotDependOnTheirNeighbours) {
  const auto adapter = make(eager());
  const at::Tensor stream = testing::golden_stream();
  adapter->step(stream.slice(0, 0, 16));
  const Prediction whole = adapter->predict(stream.slice(0, 16, 32));
  const Prediction alone = adapter->predict(stream.slice(0, 20, 21));
  EXPECT_NEAR(whole.confidences[4].item<double>(),
              alone.confidences[0].item<double>(), 1e-6);
}

TEST(Sotta, FrozenStageKeepsItsBitsAndItsStatisticsMove) {
  const auto adapter = make(eager());
  for (int64_t i = 0; i < 5; ++i)
    adapter->step(testing::golden_stream().slice(0, 16 * i, 16 * (i + 1)));

  const auto& model = adapter->model();
  const ModelState state = adapter->state();
  for (const auto& layer : model.norm_layers()) {
    const auto affine = [&](const ModelState& some) {
      return some.affine.narrow(0, 2 * layer.offset, 2 * layer.channels);
    };
    const auto mean = [&](const ModelState& some) {
      return some.running_mean.narrow(0, layer.offset, layer.channels);
    };
    const bool frozen = layer.name.rfind("layer4", 0) == 0;
    EXPECT_EQ(affine(state).equal(affine(model.source())), frozen)
        << layer.name;
    EXPECT_FALSE(mean(state).equal(mean(model.source()))) << layer.name;
  }
}

TEST(Sotta, PerturbationHasTheRadiusAsItsNorm) {
  const auto adapter = make(eager());
  const auto result = adapter->step(testing::golden_stream().slice(0, 0, 16));
  EXPECT_NEAR(number(result.updates[0].perturbation_norm), 0.05, 1e-6);
}

TEST(Sotta, RadiusRateAndMomentumAreWhatTheyAreTold) {
  SottaOptions options = eager();
  options.sharpness_radius = 0.2;
  options.learning_rate = 0.004;
  options.stats_momentum = 0.35;
  options.stats_updates = 1;
  const auto adapter = make(options);
  const ModelState& source = adapter->model().source();
  const at::Tensor images = testing::golden_stream().slice(0, 0, 16);
  const UpdateReport update = adapter->step(images).updates[0];
  ASSERT_EQ(adapter->memory_samples().size(), 16u);

  EXPECT_NEAR(number(update.perturbation_norm), 0.2, 1e-6);
  EXPECT_NEAR(
      (adapter->state().affine - source.affine).abs().max().item<double>(),
      0.004, 1e-5);
  const auto batch =
      adapter->model().forward(images, source, NormStats::batch());
  EXPECT_TRUE(testing::close(
      adapter->state().running_mean,
      0.65 * source.running_mean + 0.35 * batch.batch_mean, 1e-5));
  EXPECT_TRUE(testing::close(adapter->state().running_var,
                             0.65 * source.running_var + 0.35 * batch.batch_var,
                             1e-5));
  EXPECT_NEAR(adapter->method().statistics_share(), 0.35, 1e-12);
}

// Two updates with momentum m leave (1-m)^2 of the old average.
TEST(Sotta, TwoUpdatesOfTheSameStatisticsBlendInThirtySixPercent) {
  SottaOptions options = eager();
  options.sharpness = false;
  const auto adapter = make(options);
  const auto& source = adapter->model().source();
  adapter->step(testing::golden_stream().slice(0, 0, 16));

  // Sixteen admitted samples: the memory is the window.
  const auto batch = adapter->model().forward(
      testing::golden_stream().slice(0, 0, 16), source, NormStats::batch());
  const at::Tensor expected =
      0.64 * source.running_mean + 0.36 * batch.batch_mean;
  EXPECT_TRUE(testing::close(adapter->state().running_mean, expected, 1e-5));
}

TEST(Sotta, EmptyMemorySkipsTheUpdateAndSaysWhy) {
  SottaOptions options = eager();
  options.min_confidence = 1;
  const auto adapter = make(options);
  const auto result = adapter->step(testing::golden_stream().slice(0, 0, 16));
  EXPECT_FALSE(result.updates[0].applied);
  EXPECT_EQ(result.updates[0].skipped, "the memory is empty");
  EXPECT_TRUE(adapter->state().affine.equal(adapter->model().source().affine));
}

TEST(Sotta, EntropyOfAFixedBatchFalls) {
  SottaOptions options = eager();
  options.min_confidence = 0;
  const auto adapter = make(options);
  const at::Tensor images = testing::golden_stream().slice(0, 0, 16);
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i)
    losses.push_back(number(adapter->step(images).updates[0].loss));
  EXPECT_LT(losses.back(), losses.front());
}

TEST(Sotta, MeasuresTheLossAfterTheStepIfAsked) {
  MethodContext context = tiny_context();
  context.measure_loss_after = true;
  Adapter adapter("sotta", make_sotta(context, eager()), context);
  const at::Tensor images = testing::golden_stream().slice(0, 0, 16);
  const UpdateReport report = adapter.step(images).updates[0];
  EXPECT_LT(number(report.loss_after), number(report.loss));
  EXPECT_FALSE(make(eager())->step(images).updates[0].loss_after.defined());
}

TEST(Sotta, AutomaticThresholdFollowsClassesOrImages) {
  EXPECT_NEAR(SottaOptions::preset(Preset::kClean, 10).min_confidence, 0.99,
              1e-12);
  EXPECT_NEAR(SottaOptions::preset(Preset::kClean, 100).min_confidence, 0.66,
              1e-12);
  EXPECT_NEAR(SottaOptions::preset(Preset::kClean, 1000).min_confidence, 0.33,
              1e-12);

  SottaOptions options;
  options.min_confidence = SottaOptions::kAutoConfidence;
  MethodContext context = tiny_context();
  context.source_images = testing::Golden("methods/stream")["fisher_clean"];
  context.update_interval = 24;
  Adapter adapter("sotta", make_sotta(context, options), context);
  // The threshold is the fifth of the 24 confidences, and is reached by it.
  const auto kept =
      testing::admitted(adapter.step(context.source_images).verdicts);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 1), 20);
}

TEST(Sotta, LooksAtSourceImagesOnlyForAMemoryThatAsksForConfidence) {
  MethodContext context = tiny_context();
  context.source_images = at::empty({0, 3, 16, 16}, at::kByte);
  SottaOptions options;
  options.min_confidence = SottaOptions::kAutoConfidence;
  for (const char* memory : {"fifo", "uniform_class"}) {
    options.memory = memory;
    EXPECT_NO_THROW(make_sotta(context, options)) << memory;
  }
  for (const char* memory : {"hus", "hus_cleared", "confident_fifo"}) {
    options.memory = memory;
    EXPECT_THROW(make_sotta(context, options), Error) << memory;
  }
}

TEST(Sotta, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(
        make_adapter("sotta", tiny_context(), Preset::kClean, {{name, value}}),
        Error)
        << name;
  };
  refuses("min_confidence", 1.5);
  refuses("memory", std::string("lifo"));
  refuses("memory_capacity", int64_t{0});
  refuses("sharpness_radius", 0.0);
  refuses("stats_momentum", -0.1);
  refuses("stats_updates", int64_t{3});
  refuses("learning_rate", std::nan(""));
  refuses("weight_decay", -1.0);
  refuses("frozen", std::string("layer9"));
}

}  // namespace
}  // namespace sotta
