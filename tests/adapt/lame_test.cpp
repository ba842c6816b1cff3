#include "adapt/methods/lame.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"

#include "nn/random_tensor.h"
#include "tests/adapt/trace.h"

namespace sotta {
namespace {

using testing::close;
using testing::Trace;

at::Tensor table(const std::vector<float>& values, int64_t columns) {
  return at::tensor(values).view({-1, columns});
}

class LameGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(LameGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  const auto changes = trace.options({"skip_stem_relu"});
  const auto adapter =
      make_adapter("lame", trace.context(), Preset::kClean, changes);
  LameOptions options;
  assign_options(options, changes, "lame");
  const auto& model = adapter->model();
  for (int64_t window = 0; window < 10; ++window) {
    const at::Tensor images = trace.window(window);
    const StepResult result = adapter->step(images);
    EXPECT_TRUE(trace.matches("scores", window, result.logits.softmax(1)));
    EXPECT_EQ(testing::admitted(result.verdicts),
              testing::bytes_of(trace.at("admitted", window)));
    EXPECT_FALSE(result.updates.at(0).applied);

    const auto output =
        model.forward(images, model.source(), NormStats::running());
    EXPECT_TRUE(trace.matches("logits", window, output.logits));
    EXPECT_TRUE(neighbour_matrix(output.features, options)
                    .to(at::kByte)
                    .equal(trace.at("neighbours", window)))
        << "window " << window;
  }
}

// The third trace, lame_paper, has the published code's features, which miss
// a ReLU that this network has; see docs/methods/lame.md.
INSTANTIATE_TEST_SUITE_P(Traces, LameGolden,
                         ::testing::Values("lame_clean", "lame_unnormalised"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

LameOptions plain(int64_t neighbours) {
  LameOptions options;
  options.neighbours = neighbours;
  options.normalise_features = false;
  return options;
}

TEST(Lame, NeighboursAreTheNearestOthers) {
  const at::Tensor features = table({0, 1, 3, 7}, 1);
  EXPECT_TRUE(neighbour_matrix(features, plain(1))
                  .equal(table({0, 1, 0, 0,  //
                                1, 0, 0, 0,  //
                                0, 1, 0, 0,  //
                                0, 0, 1, 0},
                               4)));
}

TEST(Lame, EqualSamplesAreNeighboursOfEachOtherNotOfThemselves) {
  const at::Tensor features = table({5, 5, 0, 0}, 1);
  EXPECT_TRUE(neighbour_matrix(features, plain(1))
                  .equal(table({0, 1, 0, 0,  //
                                1, 0, 0, 0,  //
                                0, 0, 0, 1,  //
                                0, 0, 1, 0},
                               4)));
}

TEST(Lame, NormalisedFeaturesAreComparedByDirection) {
  const at::Tensor features = table({1, 0, 9, 1, 0, 1}, 2);
  LameOptions options = plain(1);
  EXPECT_EQ(neighbour_matrix(features, options)[0][2].item<float>(), 1);
  options.normalise_features = true;
  EXPECT_EQ(neighbour_matrix(features, options)[0][1].item<float>(), 1);
}

TEST(Lame, SmallWindowsUseAllOthers) {
  EXPECT_TRUE(neighbour_matrix(table({0, 1, 3}, 1), plain(5))
                  .equal(at::ones({3, 3}) - at::eye(3)));
  EXPECT_TRUE(
      neighbour_matrix(table({4}, 1), plain(5)).equal(at::zeros({1, 1})));
}

// Probabilities (3/4, 1/4) and (1/2, 1/2), each the other's neighbour. First
// the second follows the first: softmax(3/4, 1/4) = sigmoid(1/2). Then the
// first follows that: odds 3 exp(0.62246 - 0.37754).
TEST(Lame, TwoIterationsByHand) {
  const at::Tensor logits = table({std::log(3.f), 0, 0, 0}, 2);
  const at::Tensor each_other = table({0, 1, 1, 0}, 2);
  LameOptions options;
  options.max_iterations = 1;
  EXPECT_TRUE(close(laplacian_assignment(logits, each_other, options),
                    table({0.75f, 0.25f, 0.6224593f, 0.3775407f}, 2)));
  options.max_iterations = 2;
  EXPECT_TRUE(close(laplacian_assignment(logits, each_other, options),
                    table({0.7930699f, 0.2069301f, 0.6224593f, 0.3775407f}, 2),
                    1e-6));
}

TEST(Lame, EndsWhereTheIterationStandsStill) {
  Rng rng(1);
  const at::Tensor logits = random_normal(rng, {12, 4});
  const LameOptions options;
  const at::Tensor neighbours =
      neighbour_matrix(random_normal(rng, {12, 6}), options);
  const at::Tensor found = laplacian_assignment(logits, neighbours, options);
  const at::Tensor again =
      (logits.log_softmax(1) + neighbours.matmul(found)).softmax(1);
  EXPECT_TRUE(close(found, again, 1e-4));
  EXPECT_TRUE(close(found.sum(1), at::ones({12})));
}

// Whoever asks late whether it has settled gets what it settled at.
TEST(Lame, ASettledAssignmentIsHeld) {
  Rng rng(1);
  LameOptions options;
  const at::Tensor logits = random_normal(rng, {12, 4});
  const at::Tensor neighbours =
      neighbour_matrix(random_normal(rng, {12, 6}), options);
  const auto after = [&](int64_t iterations, double tolerance) {
    options.max_iterations = iterations;
    options.tolerance = tolerance;
    return laplacian_assignment(logits, neighbours, options);
  };
  // Settles at the third iteration, the earliest.
  const at::Tensor settled = after(3, 0);
  for (const int64_t iterations : {3, 4, 7, 8, 9, 100})
    EXPECT_TRUE(after(iterations, 1e30).equal(settled)) << iterations;
  EXPECT_FALSE(after(2, 0).equal(settled));
  EXPECT_FALSE(after(4, 0).equal(settled));
}

// The iteration as its paper has it, in double precision, ended by the energy.
TEST(Lame, SettlesAtTheIterationWhoseEnergyChangesLittle) {
  Rng rng(2);
  LameOptions options;
  options.affinity_weight = 0.7;
  options.tolerance = 1e-3;
  const at::Tensor logits = random_normal(rng, {12, 4}).to(at::kDouble);
  const at::Tensor neighbours =
      neighbour_matrix(random_normal(rng, {12, 6}), options).to(at::kDouble);
  const at::Tensor unary = -logits.log_softmax(1);
  at::Tensor assignment = logits.softmax(1);
  double before = 0;
  int64_t iterations = 0;
  for (bool settled = false; !settled; ++iterations) {
    const at::Tensor pull = 0.7 * neighbours.matmul(assignment);
    assignment = (pull - unary).softmax(1);
    const auto energy =
        (assignment * (unary - pull + assignment.log())).sum().item<double>();
    settled =
        iterations > 1 && std::abs(energy - before) <= 1e-3 * std::abs(before);
    before = energy;
  }
  EXPECT_GT(iterations, 3);
  EXPECT_TRUE(close(laplacian_assignment(logits.to(at::kFloat),
                                         neighbours.to(at::kFloat), options),
                    assignment.to(at::kFloat), 1e-6));
}

MethodContext tiny_context() {
  MethodContext context;
  context.model = testing::golden_network();
  context.update_interval = 16;
  return context;
}

at::Tensor source_probabilities(const Adapter& adapter,
                                const at::Tensor& images) {
  const auto& model = adapter.model();
  return model.forward(images, model.source(), NormStats::running())
      .logits.softmax(1);
}

TEST(Lame, WithoutAffinityTheNetworkDecides) {
  const auto adapter = make_adapter("lame", tiny_context(), Preset::kClean,
                                    {{"affinity_weight", 0.0}});
  const at::Tensor images = testing::golden_stream().slice(0, 0, 16);
  const at::Tensor expected = source_probabilities(*adapter, images);
  const StepResult result = adapter->step(images);
  EXPECT_TRUE(result.prediction.labels.equal(expected.argmax(1)));
  EXPECT_TRUE(close(result.logits.softmax(1), expected));
}

TEST(Lame, ASampleAloneIsWhatTheNetworkSays) {
  const auto adapter = make_adapter("lame", tiny_context());
  const at::Tensor image = testing::golden_stream().slice(0, 3, 4);
  const at::Tensor expected = source_probabilities(*adapter, image);
  EXPECT_TRUE(close(adapter->step(image).logits.softmax(1), expected));
}

TEST(Lame, TheOrderOfTheWindowDoesNotMatter) {
  const auto adapter = make_adapter("lame", tiny_context());
  const at::Tensor images = testing::golden_stream().slice(0, 0, 16);
  const at::Tensor forth = adapter->predict(images).confidences;
  const at::Tensor back = adapter->predict(at::flip(images, 0)).confidences;
  EXPECT_TRUE(close(forth, at::flip(back, 0)));
}

TEST(Lame, EachPartOfAWindowIsRefinedOnItsOwn) {
  const auto whole = make_adapter("lame", tiny_context());
  const auto parts = make_adapter("lame", tiny_context());
  const at::Tensor images = testing::golden_stream().slice(0, 0, 6);
  const at::Tensor expected = whole->predict(images).confidences;
  parts->step(testing::golden_stream().slice(0, 6, 12));
  EXPECT_TRUE(parts->step(images).prediction.confidences.equal(expected));
}

TEST(Lame, PresetsDifferInTheFeatures) {
  EXPECT_TRUE(LameOptions::preset(Preset::kClean, 10).normalise_features);
  EXPECT_FALSE(LameOptions::preset(Preset::kPaper, 10).normalise_features);
}

TEST(Lame, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(
        make_adapter("lame", tiny_context(), Preset::kClean, {{name, value}}),
        Error)
        << name;
  };
  refuses("neighbours", int64_t{0});
  refuses("affinity_weight", -0.1);
  refuses("affinity_weight", std::nan(""));
  refuses("max_iterations", int64_t{0});
  refuses("tolerance", -1e-9);
}

}  // namespace
}  // namespace sotta
