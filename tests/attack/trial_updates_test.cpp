#include "attack/trial_updates.h"

#include <algorithm>
#include <map>

#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/attack/attacked_window.h"

namespace sotta {
namespace {

using testing::attacked_adapter;
using testing::attacked_window;
using testing::differences;

// What a discarded update leaves behind in the published code, per method.
const std::map<std::string, std::vector<std::string>> kTraces = {
    {"source", {}},
    {"bn_stats", {}},
    {"lame", {}},
    {"pseudo_label", {"optimiser"}},
    {"tent", {"optimiser"}},
    {"eata", {"mean_probabilities", "optimiser"}},
    {"sar", {"ema", "optimiser"}},
    {"cotta",
     {"adam_affine", "adam_body", "augment.rng", "restore.rng",
      "teacher_affine", "teacher_body"}},
    {"rotta",
     {"adam", "augment.rng", "memory.items", "student_affine",
      "student_running_mean", "student_running_var"}},
    {"sotta", {"adam", "memory.rng"}},
    {"screened_sotta", {"adam", "memory.rng"}},
};

// Optimisers have several entries each.
std::vector<std::string> without_suffixes(std::vector<std::string> names) {
  for (auto& name : names)
    for (const char* family : {"adam_affine", "adam_body", "adam", "optimiser"})
      if (name.rfind(family, 0) == 0) {
        name = family;
        break;
      }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

class EveryTrial : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryTrial, ShowsTheNetworkThatAStepWouldLeave) {
  const auto adapter = attacked_adapter(GetParam());
  const at::Tensor images = attacked_window().images;
  TrialUpdates trials(*adapter, /*keep_traces=*/false);
  const auto outcome = trials.run(images);
  adapter->step(images);
  const auto expect_equal = [](const ModelState& found,
                               const ModelState& expected) {
    EXPECT_TRUE(found.body.equal(expected.body));
    EXPECT_TRUE(found.affine.equal(expected.affine));
    EXPECT_TRUE(found.running_mean.equal(expected.running_mean));
    EXPECT_TRUE(found.running_var.equal(expected.running_var));
  };
  expect_equal(outcome.predicting, adapter->state());
  expect_equal(outcome.trained, adapter->method().trained_state());
}

TEST_P(EveryTrial, LeavesNoTrace) {
  const auto adapter = attacked_adapter(GetParam());
  const Snapshot before = adapter->snapshot();
  TrialUpdates trials(*adapter, /*keep_traces=*/false);
  trials.run(attacked_window(0).images);
  trials.run(attacked_window(1).images);
  EXPECT_EQ(differences(before, adapter->snapshot()),
            std::vector<std::string>());
}

TEST_P(EveryTrial, LeavesThePublishedTracesIfAsked) {
  const auto adapter = attacked_adapter(GetParam());
  const Snapshot before = adapter->snapshot();
  TrialUpdates trials(*adapter, /*keep_traces=*/true);
  for (int64_t i = 0; i < 4; ++i)
    trials.run(attacked_window(i).images);
  EXPECT_EQ(without_suffixes(differences(before, adapter->snapshot())),
            kTraces.at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryTrial,
                         ::testing::ValuesIn(method_names()),
                         [](const auto& test) { return test.param; });

TEST(TrialUpdates, DoNotCountForMethodsThatKeepNoState) {
  for (const auto& [method, count] :
       std::map<std::string, int64_t>{{"bn_stats", 0}, {"tent", 2}}) {
    const auto adapter = attacked_adapter(method);
    TrialUpdates trials(*adapter, /*keep_traces=*/false);
    trials.run(attacked_window().images);
    trials.run(attacked_window().images);
    EXPECT_EQ(trials.count(), count) << method;
  }
}

// What stays in the memory has aged by the samples of the trial; what the trial
// brought is gone.
TEST(TrialUpdates, TheMemoryOfRottaAgesInThePublishedCode) {
  const auto adapter = attacked_adapter("rotta");
  const auto samples = adapter->memory_samples();
  const at::Tensor before =
      adapter->snapshot().tensors.at("memory.items").view({-1, 6});
  TrialUpdates trials(*adapter, /*keep_traces=*/true);
  trials.run(attacked_window().images);
  const at::Tensor after =
      adapter->snapshot().tensors.at("memory.items").view({-1, 6});

  EXPECT_EQ(adapter->memory_samples(), samples);
  EXPECT_TRUE(after.slice(1, 0, 5).equal(before.slice(1, 0, 5)));
  const at::Tensor aged = after.select(1, 5).sub(before.select(1, 5));
  EXPECT_TRUE(aged.eq(16).logical_or(aged.eq(0)).all().item<bool>());
  EXPECT_TRUE(aged.eq(16).any().item<bool>());
}

}  // namespace
}  // namespace sotta
