#include "train/train.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/train/small_problem.h"

namespace sotta {
namespace {

using testing::bright_halves_set;
using testing::small_network;
using testing::small_options;

TEST(Train, LearnsASeparableProblem) {
  const auto model = small_network();
  TrainOptions options = small_options();
  options.epochs = 12;
  Trainer trainer(*model, bright_halves_set(120), options);

  std::vector<EpochFigures> figures;
  TrainEvents events;
  events.epoch_ended = [&](int64_t epoch, const EpochFigures& some) {
    EXPECT_EQ(epoch, static_cast<int64_t>(figures.size()) + 1);
    figures.push_back(some);
  };
  EXPECT_TRUE(train(trainer, events));

  ASSERT_EQ(figures.size(), 12u);
  EXPECT_LT(figures.back().loss, 0.3 * figures.front().loss);
  EXPECT_GT(figures.back().accuracy, 95);
}

TEST(Train, TellsImagesAndFigures) {
  const auto model = small_network();
  Trainer trainer(*model, bright_halves_set(24), small_options());
  std::vector<Progress> seen;
  TrainEvents events;
  events.progress = [&](const Progress& progress) {
    seen.push_back(progress);
    return true;
  };

  train(trainer, events);

  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[0].done, 12);
  EXPECT_EQ(seen[5].done, 72);
  EXPECT_EQ(seen[5].total, 72);
  EXPECT_EQ(seen[0].note, "epoch 1/3");
  EXPECT_EQ(seen[5].note.substr(0, 16), "epoch 3/3, loss ");
}

TEST(Train, StopsWhereAskedAndGoesOn) {
  const auto model = small_network();
  const TrainingSet set = bright_halves_set(24);
  Trainer whole(*model, set, small_options());
  train(whole);
  Trainer trainer(*model, set, small_options());
  TrainEvents events;
  events.progress = [](const Progress& progress) { return progress.done < 36; };

  EXPECT_FALSE(train(trainer, events));
  EXPECT_EQ(trainer.step(), 3);
  EXPECT_TRUE(train(trainer));

  EXPECT_TRUE(testing::all_numbers(trainer.state())
                  .equal(testing::all_numbers(whole.state())));
}

TEST(Train, LossThatIsNoNumberIsSaid) {
  const auto model = small_network();
  TrainOptions options = small_options();
  options.rate = 1e30;
  Trainer trainer(*model, bright_halves_set(24), options);
  testing::expect_error(
      ErrorKind::kInvalid,
      "training: the loss is no number after epoch 1, a rate below 1e+30",
      [&] { train(trainer); });
}

}  // namespace
}  // namespace sotta
