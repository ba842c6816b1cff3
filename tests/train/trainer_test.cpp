#include "train/trainer.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/linear_classifier.h"
#include "tests/support/thread_counts.h"
#include "tests/train/small_problem.h"

namespace sotta {
namespace {

using testing::all_numbers;
using testing::bright_halves_set;
using testing::small_network;
using testing::small_options;

at::Tensor trained(const Classifier& model, const TrainingSet& set,
                   const TrainOptions& options) {
  Trainer trainer(model, set, options);
  while (!trainer.done())
    trainer.advance();
  return all_numbers(trainer.state());
}

// One pixel of two channels, logits = scale * pixel + shift, scale 4.
TEST(Trainer, OneStepByHand) {
  const testing::LinearClassifier model(2, 4);
  TrainingSet set;
  set.images = at::tensor({1, 0, 1, 0}).to(at::kByte).view({2, 2, 1, 1});
  set.labels = at::arange(2);
  set.classes = 2;
  TrainOptions options;
  options.epochs = 1;
  options.batch = 2;
  options.rate = 0.5;
  options.momentum = 0.8;
  options.weight_decay = 0.01;
  options.padding = 0;

  Trainer trainer(model, set, options);
  trainer.advance();

  // Both images give logits (4, 0), and p = sigmoid(4) for class 0, which is
  // right for one of them: d loss / d logit0 = p - 1/2 = g, d logit1 = -g. Only
  // pixel 0 is 1. A first step goes (1 + momentum) times the gradient.
  const double p = 1 / (1 + std::exp(-4.0)), g = p - 0.5;
  const auto step = [](double start, double gradient) {
    return start - 0.5 * 1.8 * (gradient + 0.01 * start);
  };
  const at::Tensor expected =
      at::tensor({step(4, g), step(4, 0), step(0, g), step(0, -g)});
  EXPECT_TRUE(testing::close(trainer.state().affine, expected.to(at::kFloat)));
  EXPECT_TRUE(trainer.done());
  const EpochFigures figures = trainer.figures(0);
  EXPECT_NEAR(figures.loss, -(std::log(p) + std::log(1 - p)) / 2, 1e-6);
  EXPECT_EQ(figures.accuracy, 50);
  EXPECT_EQ(model.source().affine[0].item<double>(), 4);
}

// A body of a weight and a bias: only the weight decays.
TEST(Trainer, AdamWDecaysWeightsAlone) {
  const auto model = small_network();
  TrainOptions options = testing::transformer_options();
  options.warm_up = options.plain_epochs = 0;
  const auto state_after = [&](double decay) {
    options.weight_decay = decay;
    Trainer trainer(*model, bright_halves_set(24), options);
    trainer.advance();
    return trainer.state().clone();
  };
  const ModelState plain = state_after(0), decayed = state_after(0.5);
  EXPECT_TRUE(plain.affine.equal(decayed.affine));
  const auto start = model->named_tensors(model->source());
  const auto without = model->named_tensors(plain);
  for (const auto& [name, tensor] : model->named_tensors(decayed)) {
    if (name != "conv1.weight" && name != "fc.weight" && name != "fc.bias")
      continue;
    const double share = name == "fc.bias" ? 0 : 0.01 * 0.5;
    EXPECT_TRUE(testing::close(
        tensor, without.at(name) - start.at(name) * share, 1e-7, 1e-6))
        << name;
  }
}

TEST(Trainer, RunningStatisticsTakeATenthOfTheBatch) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(12, /*padding=*/0);
  TrainOptions options = small_options();
  options.flip = false;
  Trainer trainer(*model, set, options);
  trainer.advance();

  // The one batch is the whole set in another order.
  const ForwardResult batch =
      model->forward(set.images, model->source(), NormStats::batch());
  EXPECT_TRUE(testing::close(trainer.state().running_mean,
                             batch.batch_mean * 0.1, 1e-6, 1e-4));
  EXPECT_TRUE(testing::close(trainer.state().running_var,
                             batch.batch_var * 0.1 + 0.9, 1e-6, 1e-4));
}

TEST(Trainer, Bfloat16StaysNearFloat32) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);
  TrainOptions options = small_options();
  options.epochs = 8;
  const auto last_loss = [&](const char* precision) {
    options.precision = precision;
    Trainer trainer(*model, set, options);
    while (!trainer.done())
      trainer.advance();
    EXPECT_EQ(trainer.state().body.scalar_type(), at::kFloat);
    return trainer.figures(options.epochs - 1).loss;
  };
  const double exact = last_loss("fp32"), coarse = last_loss("bf16");
  EXPECT_NE(exact, coarse);
  EXPECT_NEAR(coarse, exact, 0.1);
}

struct Golden {
  const char* name;
  TrainOptions options;
};

class TrainedLikePyTorch : public ::testing::TestWithParam<Golden> {};

TrainOptions golden_options(bool mixed) {
  TrainOptions options =
      mixed ? testing::transformer_options() : TrainOptions();
  options.seed = 5;
  options.epochs = 3;
  options.batch = 16;
  options.padding = 2;
  return options;
}

TEST_P(TrainedLikePyTorch, LossesAndWeightsAreTheSame) {
  const testing::Golden golden(std::string("train/") + GetParam().name),
      stream("methods/stream");
  const at::Tensor own = stream["labels"].ge(0).nonzero().flatten();
  const at::Tensor chosen = own.narrow(0, 0, 56);
  const TensorDataset data({stream["images"].index_select(0, chosen),
                            stream["labels"].index_select(0, chosen)},
                           5, "stream");
  ResNetSpec spec;
  spec.widths = {4, 6, 8, 10};
  spec.blocks = {1, 1, 1, 1};
  spec.classes = 5;
  const auto model =
      make_resnet(spec, random_resnet_state(spec, Rng(5).child("init")),
                  {{0.5, 0.4, 0.3}, {0.2, 0.25, 0.3}});
  ASSERT_TRUE(
      testing::close(model->source().body, golden["start.body"], 1e-7, 1e-6));

  Trainer trainer(*model, load_training_set(data, 2, at::kCPU),
                  GetParam().options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    for (int64_t step = 0; step < 3; ++step)
      trainer.advance();
    EXPECT_NEAR(trainer.figures(epoch).loss,
                golden["losses"][epoch].mean().item<double>(), 1e-4);
  }

  const ModelState& state = trainer.state();
  EXPECT_TRUE(testing::close(state.body, golden["body"], 1e-4, 1e-3));
  EXPECT_TRUE(testing::close(state.affine, golden["affine"], 1e-4, 1e-3));
  EXPECT_TRUE(
      testing::close(state.running_mean, golden["running_mean"], 1e-4, 1e-3));
  EXPECT_TRUE(
      testing::close(state.running_var, golden["running_var"], 1e-4, 1e-3));
}

INSTANTIATE_TEST_SUITE_P(
    All, TrainedLikePyTorch,
    ::testing::Values(Golden{"short", golden_options(false)},
                      Golden{"mixed", golden_options(true)}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Trainer, SameBitsAtAnyThreadCount) {
  // Enough weights and pixels that LibTorch shares them out.
  const auto model = small_network(1, {16, 32, 64});
  const TrainingSet set = bright_halves_set(96);
  TrainOptions options = small_options();
  options.epochs = 2;
  options.batch = 32;
  testing::expect_same_bits_at_any_thread_count(
      [&] { return trained(*model, set, options); });
}

class RestoredTrainer : public ::testing::TestWithParam<bool> {
 protected:
  TrainOptions options() const {
    return GetParam() ? testing::transformer_options() : small_options();
  }
};

INSTANTIATE_TEST_SUITE_P(All, RestoredTrainer, ::testing::Bool());

TEST_P(RestoredTrainer, InTheMiddleGivesTheSameBits) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);  // 5 steps an epoch
  const at::Tensor expected = trained(*model, set, options());

  for (const int64_t stop : {0, 1, 5, 7, 15}) {
    Trainer first(*model, set, options());
    while (first.step() < stop)
      first.advance();
    const TrainerState saved = first.save();
    if (!first.done()) first.advance();  // must not change what was saved

    Trainer second(*model, set, options());
    second.restore(saved);
    EXPECT_EQ(second.step(), stop);
    while (!second.done())
      second.advance();
    EXPECT_TRUE(all_numbers(second.state()).equal(expected)) << stop;
  }
}

// A trainer that has made other steps must forget all of them: the epoch it was
// in, its place there, the momentum.
TEST(Trainer, AUsedOneThatIsRestoredGivesTheSameBits) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);  // 5 steps an epoch
  const at::Tensor expected = trained(*model, set, small_options());
  for (const auto& [stop, used] : std::vector<std::pair<int64_t, int64_t>>{
           {6, 9}, {8, 6}, {2, 13}, {13, 2}, {5, 4}, {0, 3}, {10, 10}}) {
    Trainer first(*model, set, small_options());
    while (first.step() < stop)
      first.advance();
    Trainer second(*model, set, small_options());
    while (second.step() < used)
      second.advance();
    second.restore(first.save());
    while (!second.done())
      second.advance();
    EXPECT_TRUE(all_numbers(second.state()).equal(expected))
        << stop << " into " << used;
    first.advance();
    while (!first.done())
      first.advance();
    for (const int64_t epoch : {0, 1, 2}) {
      EXPECT_EQ(second.figures(epoch).loss, first.figures(epoch).loss);
      EXPECT_EQ(second.figures(epoch).accuracy, first.figures(epoch).accuracy);
    }
  }
}

// Field by field: each of them is needed to go on as before.
TEST(Trainer, EverySavedFieldIsRestored) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);
  Trainer first(*model, set, small_options());
  for (int64_t step = 0; step < 7; ++step)
    first.advance();
  const TrainerState saved = first.save();
  Trainer second(*model, set, small_options());
  second.restore(saved);
  const TrainerState again = second.save();
  EXPECT_EQ(again.step, 7);
  EXPECT_TRUE(all_numbers(again.model).equal(all_numbers(saved.model)));
  EXPECT_TRUE(again.body_optimiser.at("momentum")
                  .equal(saved.body_optimiser.at("momentum")));
  EXPECT_TRUE(again.affine_optimiser.at("momentum")
                  .equal(saved.affine_optimiser.at("momentum")));
  EXPECT_TRUE(again.losses.equal(saved.losses));
  EXPECT_TRUE(again.correct.equal(saved.correct));
  EXPECT_GT(saved.losses[1].item<double>(), 0);
  EXPECT_GT(saved.correct[0].item<int64_t>(), 0);
  for (const auto& part : {saved.body_optimiser, saved.affine_optimiser})
    EXPECT_GT(part.at("momentum").norm().item<double>(), 0);
}

TEST(Trainer, FiguresOfAHalfDoneEpochSurviveARestore) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);
  Trainer first(*model, set, small_options());
  for (int64_t step = 0; step < 7; ++step)
    first.advance();

  // Two of five steps.
  EXPECT_NEAR(first.figures(1).loss, first.save().losses[1].item<double>() / 2,
              1e-6);
  EXPECT_NEAR(first.figures(1).accuracy,
              first.save().correct[1].item<double>() / 24 * 100, 1e-6);

  Trainer second(*model, set, small_options());
  second.restore(first.save());

  for (const int64_t epoch : {0, 1}) {
    EXPECT_EQ(second.figures(epoch).loss, first.figures(epoch).loss);
    EXPECT_EQ(second.figures(epoch).accuracy, first.figures(epoch).accuracy);
  }
}

TEST(Trainer, OptionsChangeTheResult) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);
  const at::Tensor plain = trained(*model, set, small_options());
  const auto differs = [&](const auto& change) {
    TrainOptions options = small_options();
    change(options);
    return !trained(*model, set, options).equal(plain);
  };
  EXPECT_FALSE(differs([](TrainOptions&) {}));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.seed = 1; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.rate = 0.02; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.momentum = 0.5; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.weight_decay = 0; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.flip = false; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.batch = 20; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.epochs = 2; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.warm_up = 1; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.label_smoothing = 0.1; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.erase = 0.5; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.mixup = 0.5; }));
  EXPECT_TRUE(differs([](TrainOptions& o) { o.cutmix = 0.5; }));
  EXPECT_TRUE(differs([](TrainOptions& o) {
    o.optimiser = "adamw";
    o.rate = 0.01;
  }));
  // What changes only speed, and what there is nothing of.
  EXPECT_FALSE(differs([](TrainOptions& o) { o.plain_epochs = 1; }));
  EXPECT_FALSE(differs([](TrainOptions& o) { o.cuda_graphs = false; }));
  EXPECT_FALSE(
      trained(*model, bright_halves_set(60, /*padding=*/2), small_options())
          .equal(plain));
}

TEST(Trainer, StatesOfOtherTrainingsAreRefused) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(60);
  Trainer trainer(*model, set, small_options());
  trainer.advance();
  const at::Tensor before = all_numbers(trainer.state());

  const auto wider = small_network(1, {6, 6});
  const TrainerState other_network =
      Trainer(*wider, set, small_options()).save();
  testing::expect_error(ErrorKind::kInvalid, "another network",
                        [&] { trainer.restore(other_network); });
  TrainOptions longer = small_options();
  longer.epochs = 4;
  const TrainerState other_length = Trainer(*model, set, longer).save();
  testing::expect_error(ErrorKind::kInvalid, "another length",
                        [&] { trainer.restore(other_length); });
  TrainerState halved = trainer.save();
  halved.body_optimiser.clear();
  testing::expect_error(ErrorKind::kInvalid, "trainer state",
                        [&] { trainer.restore(halved); });
  EXPECT_EQ(trainer.step(), 1);
  EXPECT_TRUE(all_numbers(trainer.state()).equal(before));
}

// One at a time, of another shape or missing.
TEST(Trainer, EveryFieldOfAStateMustFit) {
  const auto model = small_network();
  Trainer trainer(*model, bright_halves_set(60), small_options());
  trainer.advance();
  const TrainerState good = trainer.save();
  const auto refused = [&](const char* problem, const auto& change) {
    TrainerState bad = good;
    bad.model = good.model.clone();
    change(bad);
    testing::expect_error(ErrorKind::kInvalid,
                          std::string("trainer state: belongs to ") + problem,
                          [&] { trainer.restore(bad); });
  };
  const auto in_two_ways = [&](const char* problem, const auto& field) {
    refused(problem, [&](TrainerState& s) {
      at::Tensor& tensor = field(s);
      tensor = tensor.narrow(0, 0, tensor.size(0) - 1);
    });
    refused(problem, [&](TrainerState& s) { field(s) = at::Tensor(); });
  };
  using State = TrainerState;
  using Part = at::Tensor&;
  const char* network = "another network";
  in_two_ways(network, [](State& s) -> Part { return s.model.body; });
  in_two_ways(network, [](State& s) -> Part { return s.model.affine; });
  in_two_ways(network, [](State& s) -> Part { return s.model.running_mean; });
  in_two_ways(network, [](State& s) -> Part { return s.model.running_var; });
  in_two_ways(network,
              [](State& s) -> Part { return s.body_optimiser["momentum"]; });
  in_two_ways(network,
              [](State& s) -> Part { return s.affine_optimiser["momentum"]; });
  refused(network,
          [](State& s) { s.body_optimiser["velocity"] = at::Tensor(); });
  refused(network, [](State& s) {
    s.body_optimiser = {{"velocity", s.body_optimiser["momentum"]}};
  });
  const char* length = "a training of another length";
  in_two_ways(length, [](State& s) -> Part { return s.losses; });
  in_two_ways(length, [](State& s) -> Part { return s.correct; });
  refused(length, [&](State& s) { s.step = trainer.steps() + 1; });
  refused(network, [](State& s) { s.step = 0; });  // but there is momentum
  refused(length, [](State& s) {
    s.step = -1;
    s.body_optimiser = s.affine_optimiser = {};
  });

  TrainerState last = good;
  last.step = trainer.steps();
  trainer.restore(last);
  EXPECT_TRUE(trainer.done());
}

TEST(Trainer, SaysWhatDoesNotFitTogether) {
  const auto model = small_network();
  TrainingSet set = bright_halves_set(12);
  set.classes = 4;
  testing::expect_error(
      ErrorKind::kInvalid,
      "training: the model tells 3 classes apart, the images have 4",
      [&] { Trainer(*model, set, small_options()); });
  set.classes = 3;
  set.images = set.images.expand({-1, 2, -1, -1});
  testing::expect_error(
      ErrorKind::kInvalid,
      "training: the model takes images of 1 channels, these have 2",
      [&] { Trainer(*model, set, small_options()); });
}

TEST(Trainer, ABatchMayHoldAllImages) {
  const auto model = small_network();
  TrainOptions options = small_options();
  options.batch = 12;
  Trainer trainer(*model, bright_halves_set(12), options);
  EXPECT_EQ(trainer.steps_per_epoch(), 1);
  EXPECT_EQ(trainer.steps(), 3);
}

TEST(Trainer, ImagesThatDoNotFitTheModelAreRefused) {
  const auto model = small_network();
  TrainingSet set = bright_halves_set(12);
  TrainOptions options = small_options();
  options.batch = 13;
  testing::expect_error(
      ErrorKind::kInvalid,
      "batch: expected at most the number of training images, 12, got 13",
      [&] { Trainer(*model, set, options); });
  set.classes = 4;
  testing::expect_error(ErrorKind::kInvalid, "classes",
                        [&] { Trainer(*model, set, small_options()); });
  set.classes = 3;
  set.images = set.images.expand({-1, 2, -1, -1});
  testing::expect_error(ErrorKind::kInvalid, "channels",
                        [&] { Trainer(*model, set, small_options()); });
}

TEST(CosineRate, FirstStepHasTheWholeRate) {
  EXPECT_EQ(cosine_rate(0.1, 0, 78000), 0.1);
}

TEST(CosineRate, ByHandAtQuartersOfTheWay) {
  EXPECT_NEAR(cosine_rate(0.1, 1, 4), 0.1 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 2, 4), 0.05, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 3, 4), 0.1 * (1 - std::sqrt(0.5)) / 2, 1e-15);
}

TEST(CosineRate, RisesInAStraightLineFirst) {
  EXPECT_NEAR(cosine_rate(0.1, 0, 8, 4), 0.025, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 3, 8, 4), 0.1, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 4, 8, 4), 0.1, 1e-15);
  EXPECT_NEAR(cosine_rate(0.1, 6, 8, 4), 0.05, 1e-15);
}

TEST(CosineRate, LastStepIsSmallButNotNothing) {
  const double last = cosine_rate(0.1, 77999, 78000);
  EXPECT_GT(last, 0);
  EXPECT_LT(last, 1e-9);
}

}  // namespace
}  // namespace sotta
