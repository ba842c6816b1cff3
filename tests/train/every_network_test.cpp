// Each kind of our own networks learns a small problem.
#include <gtest/gtest.h>

#include "sotta/models/weights.h"

#include "models/named_network.h"
#include "tests/train/small_problem.h"
#include "train/train.h"

namespace sotta {
namespace {

struct Case {
  const char* name;
  int64_t width;
  double rate;
};

const NetworkTask kTask = {3, 1, 8, 8};

class TrainedNetwork : public ::testing::TestWithParam<Case> {};

TEST_P(TrainedNetwork, LearnsAndCanBeReadAgain) {
  const auto [name, width, rate] = GetParam();
  const NamedNetwork network = named_network(name, kTask, width);
  const auto model =
      network.make(network.random_state(Rng(2)), {{0.3}, {0.2}}, {});
  TrainOptions options = testing::small_options();
  options.epochs = 6;
  options.rate = rate;
  Trainer trainer(*model, testing::bright_halves_set(60), options);
  EXPECT_TRUE(train(trainer));
  EXPECT_LT(trainer.figures(5).loss, trainer.figures(0).loss);
  EXPECT_GT(trainer.figures(5).accuracy, 60) << "of three classes";

  const auto again =
      make_classifier(export_weights(*model, trainer.state()), {}, "trained");
  const auto images = testing::bright_halves(30);
  const auto logits = [&](const Classifier& net, const ModelState& state) {
    return net.forward(images.images, state, NormStats::running()).logits;
  };
  const at::Tensor expected = logits(*model, trainer.state());
  EXPECT_TRUE(logits(*again, again->source()).equal(expected));
  EXPECT_GT(expected.argmax(1).eq(images.labels).sum().item<int64_t>(), 18);
}

TEST_P(TrainedNetwork, GoesOnFromASavedState) {
  const auto [name, width, rate] = GetParam();
  const NamedNetwork network = named_network(name, kTask, width);
  const auto model =
      network.make(network.random_state(Rng(2)), {{0.3}, {0.2}}, {});
  const auto set = testing::bright_halves_set(24);
  TrainOptions options = testing::small_options();
  options.rate = rate;
  Trainer whole(*model, set, options), first(*model, set, options),
      second(*model, set, options);
  while (!whole.done())
    whole.advance();
  first.advance();
  second.restore(first.save());
  while (!second.done())
    second.advance();
  EXPECT_TRUE(testing::all_numbers(second.state())
                  .equal(testing::all_numbers(whole.state())));
}

INSTANTIATE_TEST_SUITE_P(All, TrainedNetwork,
                         ::testing::Values(Case{"wide_resnet10_1", 4, 0.05},
                                           Case{"wide_resnet40_2", 4, 0.05},
                                           Case{"resnet26_gn", 8, 0.05},
                                           Case{"vit_tiny", 12, 0.02}),
                         [](const auto& one) {
                           return std::string(one.param.name);
                         });

}  // namespace
}  // namespace sotta
