#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include "sotta/data/safetensors.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/train/small_problem.h"

namespace sotta {
namespace {

using testing::expect_error;
using testing::TempDir;

OptionMap example_run() {
  OptionMap run = to_option_map(testing::small_options());
  run["dataset"] = std::string("cifar10");
  return run;
}

TEST(Checkpoint, ContinuesBitForBit) {
  const TempDir folder;
  const auto model = testing::small_network();
  const TrainingSet set = testing::bright_halves_set(60);
  Trainer whole(*model, set, testing::small_options());
  for (int64_t step = 0; step < 7; ++step)
    whole.advance();
  save_checkpoint(folder / "c.safetensors", {whole.save(), example_run(), 1.5});
  while (!whole.done())
    whole.advance();

  const Checkpoint read =
      load_checkpoint(folder / "c.safetensors", example_run());
  Trainer continued(*model, set, testing::small_options());
  continued.restore(read.state);
  EXPECT_EQ(continued.step(), 7);
  EXPECT_EQ(read.seconds, 1.5);
  while (!continued.done())
    continued.advance();

  EXPECT_TRUE(testing::all_numbers(continued.state())
                  .equal(testing::all_numbers(whole.state())));
  EXPECT_EQ(continued.figures(1).loss, whole.figures(1).loss);
}

TEST(Checkpoint, BeforeTheFirstStep) {
  const TempDir folder;
  const auto model = testing::small_network();
  Trainer trainer(*model, testing::bright_halves_set(60),
                  testing::small_options());
  save_checkpoint(folder / "c", {trainer.save(), {}, 0});
  const Checkpoint read = load_checkpoint(folder / "c", {});
  EXPECT_TRUE(read.state.body_optimiser.empty());
  EXPECT_NO_THROW(trainer.restore(read.state));
}

TEST(Checkpoint, OtherOptionsAreAllNamed) {
  const TempDir folder;
  const auto model = testing::small_network();
  const Trainer trainer(*model, testing::bright_halves_set(60),
                        testing::small_options());
  save_checkpoint(folder / "c", {trainer.save(), example_run(), 0});
  OptionMap other = example_run();
  other["batch"] = int64_t{64};
  other["dataset"] = std::string("cifar100");
  expect_error(ErrorKind::kInvalid,
               "is a checkpoint of another training: batch is 12 there and 64 "
               "here, dataset is cifar10 there and cifar100 here",
               [&] { load_checkpoint(folder / "c", other); });
  other["new"] = true;
  expect_error(ErrorKind::kInvalid, "new is unknown there and true here",
               [&] { load_checkpoint(folder / "c", other); });
}

TEST(Checkpoint, AnyOptionThatDiffersIsNamed) {
  const TempDir folder;
  const auto model = testing::small_network();
  const Trainer trainer(*model, testing::bright_halves_set(60),
                        testing::small_options());
  save_checkpoint(folder / "c", {trainer.save(), example_run(), 0});
  for (const auto& [name, value] : example_run()) {
    OptionMap other = example_run();
    other[name] = to_text(value) + "1";
    expect_error(ErrorKind::kInvalid,
                 "another training: " + name + " is " + to_text(value) +
                     " there and " + to_text(value) + "1 here",
                 [&] { load_checkpoint(folder / "c", other); });
  }
}

TEST(Checkpoint, OtherFilesAreRefused) {
  const TempDir folder;
  expect_error(ErrorKind::kNotFound, "none",
               [&] { load_checkpoint(folder / "none", {}); });
  folder.write("text", "no checkpoint at all");
  expect_error(ErrorKind::kBadFormat, "text",
               [&] { load_checkpoint(folder / "text", {}); });
  write_safetensors(folder / "weights", {});
  expect_error(ErrorKind::kBadFormat, "expected a checkpoint of a training",
               [&] { load_checkpoint(folder / "weights", {}); });
  write_safetensors(folder / "later", {{}, {{"sotta_checkpoint", "2"}}});
  expect_error(ErrorKind::kBadFormat, "expected a checkpoint of format 1",
               [&] { load_checkpoint(folder / "later", {}); });
  write_safetensors(
      folder / "step",
      {{}, {{"sotta_checkpoint", "1"}, {"step", "many"}, {"seconds", "0"}}});
  expect_error(ErrorKind::kBadFormat, "step",
               [&] { load_checkpoint(folder / "step", {}); });
}

TEST(Checkpoint, KeepsEveryTensorByItsName) {
  const TempDir folder;
  const auto model = testing::small_network();
  Trainer trainer(*model, testing::bright_halves_set(60),
                  testing::small_options());
  trainer.advance();
  const TrainerState saved = trainer.save();
  save_checkpoint(folder / "c", {saved, {}, 2.25});

  const TensorFile file = read_safetensors(folder / "c");
  EXPECT_EQ(file.metadata.at("step"), "1");
  EXPECT_EQ(file.metadata.at("seconds"), "2.25");
  std::vector<std::string> names;
  for (const auto& [name, array] : file.tensors)
    names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "affine", "body", "correct", "losses", "momentum.affine",
                       "momentum.body", "running_mean", "running_var"}));
  const TrainerState read = load_checkpoint(folder / "c", {}).state;
  EXPECT_TRUE(testing::all_numbers(read.model)
                  .equal(testing::all_numbers(saved.model)));
  EXPECT_TRUE(read.body_optimiser.at("momentum")
                  .equal(saved.body_optimiser.at("momentum")));
  EXPECT_TRUE(read.affine_optimiser.at("momentum")
                  .equal(saved.affine_optimiser.at("momentum")));
  EXPECT_TRUE(read.losses.equal(saved.losses));
  EXPECT_TRUE(read.correct.equal(saved.correct));
}

TEST(Checkpoint, KeepsBothMomentsOfAdamW) {
  const TempDir folder;
  const auto model = testing::small_network();
  const TrainingSet set = testing::bright_halves_set(24);
  Trainer whole(*model, set, testing::transformer_options());
  whole.advance();
  save_checkpoint(folder / "c", {whole.save(), {}, 0});
  const TensorFile file = read_safetensors(folder / "c");
  for (const char* name : {"first_moment.body", "first_moment.affine",
                           "second_moment.body", "second_moment.affine"})
    EXPECT_EQ(file.tensors.count(name), 1u) << name;
  Trainer continued(*model, set, testing::transformer_options());
  continued.restore(load_checkpoint(folder / "c", {}).state);
  while (!whole.done()) {
    whole.advance();
    continued.advance();
  }
  EXPECT_TRUE(testing::all_numbers(continued.state())
                  .equal(testing::all_numbers(whole.state())));
}

TEST(Checkpoint, SaysWhatIsMissingOrWrong) {
  const TempDir folder;
  const auto refused = [&](const std::map<std::string, std::string>& metadata,
                           const std::string& problem) {
    TensorFile content;
    content.metadata = {metadata.begin(), metadata.end()};
    write_safetensors(folder / "c", content);
    expect_error(ErrorKind::kBadFormat,
                 (folder / "c").string() + ": " + problem,
                 [&] { load_checkpoint(folder / "c", {}); });
  };
  refused({},
          "expected a checkpoint of a training, metadata "
          "\"sotta_checkpoint\" is missing");
  refused({{"sotta_checkpoint", "2"}},
          "expected a checkpoint of format 1, got 2");
  refused({{"sotta_checkpoint", "1"}, {"seconds", "many"}},
          "seconds: expected a number, got \"many\"");
  refused({{"sotta_checkpoint", "1"}, {"seconds", "1"}, {"step", "1.5"}},
          "step: expected a whole number, got \"1.5\"");
}

}  // namespace
}  // namespace sotta
