#include "adapt/methods/eata.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/error.h"
#include "sotta/nn/losses.h"

#include "adapt/methods/fisher.h"
#include "core/draw.h"
#include "tests/adapt/trace.h"
#include "tests/support/expect_error.h"
#include "tests/support/linear_classifier.h"

namespace sotta {
namespace {

using testing::number;
using testing::Trace;

// The trace's context with the images its Fisher information was taken from.
MethodContext context_of(const Trace& trace) {
  const testing::Golden stream("methods/stream");
  MethodContext context = trace.context();
  context.source_images = stream["fisher_clean"];
  if (trace.text("fisher_data") == "clean_and_noise")
    context.source_images =
        at::cat({context.source_images, stream["fisher_noise"]});
  return context;
}

std::unique_ptr<Adapter> adapter_of(const Trace& trace,
                                    const OptionMap& changes = {}) {
  OptionMap options = trace.options({"fisher_data"});
  for (const auto& [name, value] : changes)
    options[name] = value;
  return make_adapter("eata", context_of(trace), Preset::kClean, options);
}

std::vector<uint8_t> reliable(const std::vector<Verdict>& verdicts) {
  std::vector<uint8_t> flags;
  for (const Verdict verdict : verdicts)
    flags.push_back(verdict == Verdict::kUnreliable ? 0 : 1);
  return flags;
}

class EataGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(EataGolden, TenWindowsEqualPyTorch) {
  const Trace trace(GetParam());
  auto adapter = adapter_of(trace);
  for (int64_t window = 0; window < 10; ++window) {
    const StepResult result = adapter->step(trace.window(window));
    if (testing::is_time_for_a_fresh_one(window))
      testing::go_on_with_a_fresh_one(adapter,
                                      [&] { return adapter_of(trace); });
    testing::expect_window(trace, window, *adapter, result);
    EXPECT_EQ(reliable(result.verdicts),
              testing::bytes_of(trace.at("reliable", window)))
        << "window " << window;

    const auto tensors = adapter->snapshot().tensors;
    const auto found = tensors.find("mean_probabilities");
    const at::Tensor expected = trace.at("mean_probabilities", window);
    ASSERT_EQ(found == tensors.end(), expected.isnan().all().item<bool>());
    if (found == tensors.end()) continue;
    EXPECT_TRUE(trace.matches("mean_probabilities", window, found->second));
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, EataGolden,
                         ::testing::Values("eata_clean", "eata_paper",
                                           "eata_strict"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

// Two classes; the likelier one has 3/4, 1/2 and 9/10. Entropies 0.5623,
// 0.6931 and 0.3251, so that 0.6 leaves out the second.
class EataByHand : public ::testing::Test {
 protected:
  EataByHand() {
    context_.model =
        std::make_shared<testing::LinearClassifier>(2, testing::kLinearScale);
    context_.update_interval = 3;
    options_.entropy_margin = 0.6;
    options_.redundancy_margin = 0.9945;
    options_.fisher_weight = 0;
    options_.momentum = 0;
  }

  Adapter make() const {
    return {"eata", make_eata(context_, options_), context_};
  }

  at::Tensor images_ = testing::two_class_images({std::log(3), 0, std::log(9)});
  MethodContext context_;
  EataOptions options_;
};

TEST_F(EataByHand, WeighsTheReliableSamples) {
  options_.learning_rate = 0.5;
  Adapter adapter = make();

  const UpdateReport report = adapter.step(images_).updates[0];

  const double first = std::exp(0.6 - 0.5623351);
  const double last = std::exp(0.6 - 0.3250830);
  EXPECT_NEAR(number(report.loss), (first * 0.5623351 + last * 0.3250830) / 2,
              1e-6);
  // The entropy's derivative by the difference d of the logits is -d p (1 - p).
  const double by_shift =
      -(first * 3.0 / 16 * std::log(3) + last * 0.09 * std::log(9)) / 2;
  const at::Tensor shifts = adapter.state().affine.narrow(0, 2, 2);
  EXPECT_NEAR(shifts[0].item<double>(), -0.5 * by_shift, 1e-6);
  EXPECT_NEAR(shifts[1].item<double>(), 0.5 * by_shift, 1e-6);
}

// The average of (3/4, 1/4) and (9/10, 1/10) is (0.825, 0.175): its cosine with
// the first is 0.9937, with the last 0.9952.
TEST_F(EataByHand, LeavesOutWhatIsLikeTheAverage) {
  options_.learning_rate = 1e-9;
  Adapter adapter = make();
  const auto average = [&] {
    return adapter.snapshot().tensors.at("mean_probabilities");
  };

  EXPECT_EQ(adapter.step(images_).verdicts,
            (std::vector<Verdict>{Verdict::kAdmitted, Verdict::kUnreliable,
                                  Verdict::kAdmitted}));
  EXPECT_NEAR(average()[0].item<double>(), 0.825, 1e-6);

  EXPECT_EQ(adapter.step(images_).verdicts,
            (std::vector<Verdict>{Verdict::kAdmitted, Verdict::kUnreliable,
                                  Verdict::kRedundant}));
  EXPECT_NEAR(average()[0].item<double>(), 0.9 * 0.825 + 0.1 * 0.75, 1e-6);
}

TEST_F(EataByHand, TheAverageKeepsTheShareItIsTold) {
  options_.learning_rate = 1e-9;
  options_.probability_momentum = 0.3;
  Adapter adapter = make();
  adapter.step(images_);
  adapter.step(images_);
  EXPECT_NEAR(
      adapter.snapshot().tensors.at("mean_probabilities")[0].item<double>(),
      0.3 * 0.825 + 0.7 * 0.75, 1e-6);
}

// Only what lies below the margins counts; the entropy of p = 1/2 is ln 2.
TEST_F(EataByHand, AnEntropyThatIsTheMarginIsUnreliable) {
  const at::Tensor even = testing::two_class_images({0, 0, 0});
  options_.entropy_margin = exact_entropy(at::zeros({1, 2})).item<double>();
  EXPECT_EQ(make().step(even).verdicts,
            std::vector<Verdict>(3, Verdict::kUnreliable));
  options_.entropy_margin =
      std::nextafter(static_cast<float>(options_.entropy_margin), 1.f);
  EXPECT_EQ(make().step(even).verdicts,
            std::vector<Verdict>(3, Verdict::kAdmitted));
}

TEST_F(EataByHand, NothingSelectedChangesNothing) {
  Adapter adapter = make();
  adapter.step(images_);
  const Snapshot before = adapter.snapshot();

  const StepResult result = adapter.step(testing::two_class_images({0, 0, 0}));

  EXPECT_FALSE(result.updates[0].applied);
  EXPECT_EQ(result.updates[0].skipped,
            "no sample of the window is reliable and new");
  EXPECT_EQ(result.verdicts, std::vector<Verdict>(3, Verdict::kUnreliable));
  for (const char* name : {"affine", "mean_probabilities"})
    EXPECT_TRUE(
        adapter.snapshot().tensors.at(name).equal(before.tensors.at(name)))
        << name;
}

// Likewise where a window's work takes the way of CUDA graphs: from the third
// window on, and with a momentum that would go on by itself.
TEST_F(EataByHand, NothingSelectedKeepsEveryBit) {
  options_.momentum = 0.9;
  options_.learning_rate = 0.01;
  options_.redundancy_margin = 2;
  for (const bool cuda_graphs : {false, true}) {
    context_.executor = std::make_shared<Executor>(
        context_.model, ExecutorOptions{cuda_graphs});
    Adapter adapter = make();
    for (int i = 0; i < 3; ++i)
      adapter.step(images_);
    Snapshot before = adapter.snapshot();
    ASSERT_EQ(before.tensors.count("optimiser.momentum"), 1u);

    const StepResult result =
        adapter.step(testing::two_class_images({0, 0, 0}));

    EXPECT_FALSE(result.updates[0].applied);
    Snapshot after = adapter.snapshot();
    EXPECT_EQ(after.tensors.size(), before.tensors.size());
    for (Snapshot* snapshot : {&before, &after})
      snapshot->tensors.erase("adapter.samples");
    for (const auto& [name, tensor] : before.tensors)
      EXPECT_TRUE(after.tensors.at(name).equal(tensor))
          << name << ", graphs: " << cuda_graphs;
  }
}

// There is no average before something was selected, however many windows went
// by; a margin of 0 then leaves out everything.
TEST_F(EataByHand, EverythingIsNewUntilThereIsAnAverage) {
  options_.redundancy_margin = 0;
  for (const bool cuda_graphs : {false, true}) {
    context_.executor = std::make_shared<Executor>(
        context_.model, ExecutorOptions{cuda_graphs});
    Adapter adapter = make();
    for (int i = 0; i < 3; ++i) {
      adapter.step(testing::two_class_images({0, 0, 0}));
      EXPECT_EQ(adapter.snapshot().tensors.count("mean_probabilities"), 0u);
    }

    EXPECT_EQ(adapter.step(images_).verdicts,
              (std::vector<Verdict>{Verdict::kAdmitted, Verdict::kUnreliable,
                                    Verdict::kAdmitted}));
    const Snapshot first = adapter.snapshot();
    EXPECT_NEAR(first.tensors.at("mean_probabilities")[0].item<double>(), 0.825,
                1e-6);
    const std::vector<Verdict> known = {
        Verdict::kRedundant, Verdict::kUnreliable, Verdict::kRedundant};
    EXPECT_EQ(adapter.step(images_).verdicts, known);

    adapter.reset();
    EXPECT_EQ(adapter.snapshot().tensors.count("mean_probabilities"), 0u);
    EXPECT_TRUE(adapter.step(images_).updates[0].applied);
    adapter.restore(first);
    EXPECT_EQ(adapter.step(images_).verdicts, known);
  }
}

// The loss of the second window is that without the pull, at the same
// parameters, and the pull: its weight times the sum of information times
// squared way. Information by another number of images and batches.
TEST(Eata, FisherWeightHoldsTheParameters) {
  const Trace trace("eata_clean");
  const MethodContext context = context_of(trace);
  const auto places =
      draw_without_replacement(24, 9, context.rng.child("fisher"));
  const at::Tensor fisher = fisher_information(
      *executor_of(context),
      context.source_images.index_select(0, at::tensor(places)), 4);
  const double weight = 3e5;

  const OptionMap changes = {{"fisher_samples", int64_t{9}},
                             {"fisher_batch", int64_t{4}},
                             {"learning_rate", 5e-3},
                             {"fisher_weight", weight}};
  const auto held = adapter_of(trace, changes);
  const auto free =
      adapter_of(trace, {{"learning_rate", 5e-3}, {"fisher_weight", 0.0}});
  held->step(trace.window(0));
  free->step(trace.window(0));  // at the source nothing pulls
  const at::Tensor way = free->state().affine - context.model->source().affine;
  ASSERT_TRUE(held->state().affine.equal(free->state().affine));
  const double pull = weight * (fisher * way * way).sum().item<double>();

  const double without = number(free->step(trace.window(1)).updates[0].loss);
  const double with = number(held->step(trace.window(1)).updates[0].loss);
  EXPECT_GT(pull, 1e-3);
  EXPECT_NEAR(with - without, pull, 1e-4 * pull + 1e-6);
}

TEST(Eata, NeedsSourceImagesUnlessNothingHoldsTheParameters) {
  const Trace trace("eata_clean");
  testing::expect_error(ErrorKind::kInvalid, "fisher_weight",
                        [&] { make_adapter("eata", trace.context()); });
  EXPECT_NO_THROW(make_adapter("eata", trace.context(), Preset::kClean,
                               {{"fisher_weight", 0.0}}));
}

TEST(Eata, PresetsFollowTheNumberOfClasses) {
  const auto small = EataOptions::preset(Preset::kPaper, 100);
  EXPECT_NEAR(small.entropy_margin, 1.84207, 1e-5);
  EXPECT_EQ(small.redundancy_margin, 0.4);
  EXPECT_EQ(small.fisher_weight, 1);
  EXPECT_EQ(small.learning_rate, 5e-3);
  EXPECT_EQ(small.weight_decay, 5e-4);
  const auto large = EataOptions::preset(Preset::kPaper, 1000);
  EXPECT_NEAR(large.entropy_margin, 2.76310, 1e-5);
  EXPECT_EQ(large.redundancy_margin, 0.05);
  EXPECT_EQ(large.fisher_weight, 2000);
  EXPECT_EQ(large.learning_rate, 2.5e-4);
  EXPECT_EQ(large.weight_decay, 0);
  EXPECT_EQ(EataOptions::preset(Preset::kClean, 10).weight_decay, 0);
}

TEST(Eata, RefusesOptionsOutOfRange) {
  const auto refuses = [](const std::string& name, const OptionValue& value) {
    EXPECT_THROW(adapter_of(Trace("eata_clean"), {{name, value}}), Error)
        << name;
  };
  refuses("entropy_margin", 0.0);
  refuses("redundancy_margin", -0.1);
  refuses("probability_momentum", 1.1);
  refuses("fisher_weight", -1.0);
  refuses("fisher_samples", int64_t{0});
  refuses("fisher_batch", int64_t{0});
  refuses("learning_rate", std::nan(""));
  refuses("momentum", 1.0);
  refuses("weight_decay", -1.0);
}

}  // namespace
}  // namespace sotta
