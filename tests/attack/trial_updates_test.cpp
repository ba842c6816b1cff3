#include "attack/trial_updates.h"

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
};

// Optimisers have several entries each.
std::vector<std::string> without_suffixes(std::vector<std::string> names) {
  for (auto& name : names)
    for (const char* family : {"adam_affine", "adam_body", "adam", "optimiser"})
      if (name.rfind(family, 0) == 0) {
        name = family;
        break;
      }
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

// Each name once before, with zeros, and once after, with ones.
std::vector<std::string> traces_among(const std::string& method,
                                      const std::vector<std::string>& names) {
  Snapshot before, after;
  before.method = after.method = method;
  for (const auto& name : names) {
    before.tensors[name] = at::zeros({1});
    after.tensors[name] = at::ones({1});
  }
  return differences(before, with_published_traces(before, after));
}

TEST(TrialUpdates, TracesAreToldByTheirNames) {
  const std::vector<std::string> kNames = {
      "adam.steps",     "affine",       "ema",          "ema_of_others",
      "augment.rng",    "rngs",         "not_adam",     "mean_probabilities",
      "optimiser.sum",  "running_mean", "student_body", "teacher_body",
      "adapter.pending"};
  using Names = std::vector<std::string>;
  const Names common = {"adam.steps", "augment.rng", "ema",
                        "mean_probabilities", "optimiser.sum"};
  const auto with = [&](const std::string& name) {
    Names names = common;
    names.push_back(name);
    return names;
  };
  EXPECT_EQ(traces_among("tent", kNames), common);
  EXPECT_EQ(traces_among("cotta", kNames), with("teacher_body"));
  EXPECT_EQ(traces_among("rotta", kNames), with("student_body"));
}

// Six words a sample: slot, place in the stream, label, confidence,
// uncertainty, age.
TEST(TrialUpdates, OnlyTheAgeOfASampleThatStayedIsTaken) {
  const auto items = [](const std::vector<int64_t>& words) {
    Snapshot snapshot;
    snapshot.method = "rotta";
    snapshot.tensors["memory.items"] = at::tensor(words, at::kLong);
    return snapshot;
  };
  const Snapshot before = items({0, 40, 1, 2, 3, 5,  //
                                 1, 41, 1, 2, 3, 4,  //
                                 2, 42, 1, 2, 3, 3});
  const Snapshot after = items({2, 42, 9, 9, 9, 19,  //
                                0, 50, 9, 9, 9, 1,   //
                                1, 40, 9, 9, 9, 21});
  EXPECT_TRUE(with_published_traces(before, after)
                  .tensors.at("memory.items")
                  .equal(items({0, 40, 1, 2, 3, 21,  //
                                1, 41, 1, 2, 3, 4,   //
                                2, 42, 1, 2, 3, 19})
                             .tensors.at("memory.items")));
}

}  // namespace
}  // namespace sotta
